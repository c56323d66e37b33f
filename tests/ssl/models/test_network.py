import pytest
import torch

from mixmood.core.errors import OptionError
from mixmood.ssl.models.network import Follower, Network, device_named, is_mixed
from mixmood.ssl.models.registry import model_spec

CPU = torch.device("cpu")


def network(precision="float32"):
    torch.manual_seed(0)
    return Network(model_spec("wrn-tiny").build((1, 8, 8), 3).train(), CPU, precision)


def images(n_images, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n_images, 1, 8, 8, generator=generator)


def running_means(net):
    return torch.cat([b for name, b in net.model.named_buffers() if name.endswith("running_mean")])


def test_guessing_leaves_the_running_statistics_alone():
    net = network()
    before = running_means(net).clone()
    probabilities = net.guess(images(4, 1))
    assert torch.equal(running_means(net), before)
    assert not probabilities.requires_grad
    assert torch.allclose(probabilities.sum(1), torch.ones(4))


def test_guessing_uses_the_statistics_of_the_batch():
    net = network()
    expected = net.forward(images(4, 1)).softmax(1)
    assert torch.allclose(net.guess(images(4, 1)), expected, atol=1e-6)


def test_a_joint_pass_is_one_pass_over_everything():
    x, y = images(4, 1), images(8, 2)
    joint = torch.cat(network().parts([x, y], "joint"))
    assert torch.allclose(joint, network().forward(torch.cat([x, y])), atol=1e-6)


def test_separate_passes_know_nothing_of_each_other():
    x = images(4, 1)
    net, alone = network(), network()
    logits, _ = net.parts([x, 10 * images(8, 2)], "separate")
    assert torch.allclose(logits, alone.forward(x), atol=1e-6)
    assert torch.allclose(running_means(net), running_means(alone))


def test_interleaved_passes_mix_the_parts_and_give_rows_back_in_order():
    """Each of the three passes takes every third row of the twelve."""
    x, y = images(4, 1), images(8, 2)
    logits = torch.cat(network().parts([x, y], "interleaved"))
    together = torch.cat([x, y])
    expected = torch.empty_like(logits)
    for start in range(3):
        expected[start::3] = network().forward(together[start::3])
    assert torch.allclose(logits, expected, atol=1e-5)


def test_an_average_follows_the_weights():
    """After the first update the decay is 1 / 10, however large it is later."""
    net = network()
    average = Follower(net.model, 0.999)
    start = net.model.head.weight.detach().clone()
    with torch.no_grad():
        net.model.head.weight += 1.0
    average.update(0)
    assert torch.allclose(average.model.head.weight, start + 0.9, atol=1e-6)


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_interpolated_weights_depend_on_the_initial_and_the_present_ones_alone(share):
    net = network()
    between = Follower(net.model, 0, share)
    start = net.model.head.weight.detach().clone()
    for update, step in enumerate((5.0, -3.0)):
        with torch.no_grad():
            net.model.head.weight += step
        between.update(update)
    assert torch.allclose(between.model.head.weight, start + 2.0 * share, atol=1e-6)


def test_bfloat16_passes_give_nearly_the_logits_of_single_precision():
    x = images(4, 1)
    exact, mixed = network().forward(x), network("bfloat16").forward(x)
    assert mixed.dtype == torch.float32
    assert not torch.equal(exact, mixed)
    assert torch.allclose(exact, mixed, atol=0.2)


def test_single_precision_is_the_choice_on_a_cpu():
    assert not is_mixed("auto", CPU)


def test_an_unknown_precision_is_refused():
    with pytest.raises(OptionError, match="Unknown precision 'float64'"):
        is_mixed("float64", CPU)


def test_an_unknown_device_is_refused():
    with pytest.raises(OptionError, match="Unknown device 'gpu'"):
        device_named("gpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
@pytest.mark.parametrize("word", ["cuda", "cuda:1"])
def test_a_gpu_asked_for_and_absent_is_refused(word):
    with pytest.raises(OptionError, match=f"'{word}' was asked for, but torch finds none"):
        device_named(word)
