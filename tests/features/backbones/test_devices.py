"""Where a backbone computes: what a session really uses, and wishes that cannot be met."""

from types import SimpleNamespace

import numpy as np
import pytest
from tests.fixtures.counted_pool import Means

from mixmood.core.errors import BackboneError, OptionError
from mixmood.core.listener import Recorder
from mixmood.features.backbones import devices
from mixmood.features.backbones.devices import (
    PROVIDERS,
    is_surely_cpu,
    onnx_runtime,
    open_on_device,
)
from mixmood.features.backbones.registry import BACKBONES, load_backbone

HERE = [
    name for name, word in PROVIDERS.items() if word in onnx_runtime().get_available_providers()
]


def runtime(available, used):
    """An ONNX Runtime of another build; `used` is what a session uses whatever it is asked."""

    def session(model, options, providers):
        own = [PROVIDERS[used] if used else providers[0]]
        return SimpleNamespace(options=options, get_providers=lambda: own)

    names = [PROVIDERS[name] for name in available]
    return SimpleNamespace(
        get_available_providers=lambda: names,
        InferenceSession=session,
        SessionOptions=SimpleNamespace,
    )


@pytest.mark.skipif("cuda" in HERE, reason="this build has CUDA")
def test_a_device_that_this_build_lacks_is_refused():
    message = r"The device cuda cannot be used: this ONNX Runtime has cpu.*onnxruntime-gpu"
    with pytest.raises(BackboneError, match=message):
        load_backbone(device="cuda")


def test_a_backbone_of_ones_own_needs_no_devices(monkeypatch):
    own = Means()
    own.name = "own"
    monkeypatch.setitem(BACKBONES, "own", lambda resolution: own)
    assert load_backbone("own", device="auto") is load_backbone("own") is own
    with pytest.raises(BackboneError, match="own computes on the CPU only; got the device cuda"):
        load_backbone("own", device="cuda")


def test_an_unknown_device_is_refused_with_the_nearest_one():
    with pytest.raises(OptionError, match="Unknown device 'cud'. Did you mean 'cuda'?"):
        load_backbone(device="cud")


@pytest.mark.skipif(HERE != ["cpu"], reason="this build has other devices")
def test_auto_on_a_plain_build_is_the_processor_with_the_same_features_and_key():
    plain, auto = load_backbone(), load_backbone(device="auto")
    assert plain.describe()["device"] == auto.describe()["device"] == "cpu"
    assert plain.fingerprint == auto.fingerprint
    assert is_surely_cpu("auto")


def test_a_missing_driver_is_found_by_asking_the_session(monkeypatch):
    monkeypatch.setattr(devices, "onnx_runtime", lambda: runtime(["cuda", "cpu"], "cpu"))
    with pytest.raises(BackboneError, match="has cpu, cuda, but the driver of cuda is missing"):
        open_on_device(b"", "cuda")
    said = Recorder()
    assert open_on_device(b"", "auto", said)[1] == "cpu"
    assert "has cuda but cannot use it; the processor is used" in said.warnings[0]


@pytest.mark.parametrize("device", ["auto", "directml"])
def test_a_device_that_works_is_used(monkeypatch, device):
    monkeypatch.setattr(devices, "onnx_runtime", lambda: runtime(["directml", "cpu"], None))
    session, used = open_on_device(b"", device)
    assert (used, session.get_providers()) == ("directml", ["DmlExecutionProvider"])
    assert not session.options.enable_mem_pattern, "DirectML needs it off"


def test_the_device_is_part_of_the_cache_key(monkeypatch):
    plain, other = load_backbone(), load_backbone()
    images = np.zeros((2, 96, 96, 3), np.uint8)
    other.embed(images)
    other.device = "cuda"
    assert plain.fingerprint != other.fingerprint
    assert np.array_equal(plain.embed(images), other.embed(images)), "the session is the same"
    assert other.describe()["device"] == "cuda"


def test_packages_for_other_hardware_are_not_taken_for_the_plain_one(monkeypatch):
    monkeypatch.setattr(devices, "package_version", lambda name: "1")
    assert not is_surely_cpu("auto")
    assert is_surely_cpu("cpu")
    assert not is_surely_cpu("cuda")
