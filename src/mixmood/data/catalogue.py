"""The paper's data sets."""
CATALOGUE = {n: None for n in ("mnist","fashion_mnist","cifar10","svhn","tiny_imagenet","fashion_product")}
