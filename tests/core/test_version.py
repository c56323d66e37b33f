from importlib.metadata import version

from mixmood.core.version import package_version


def test_the_version_of_a_package_is_that_of_its_metadata():
    assert package_version("numpy") == version("numpy")


def test_a_package_that_is_not_installed_has_no_version():
    assert package_version("no-such-package") is None
