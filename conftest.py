"""Fixtures that tests of several layers share."""

pytest_plugins = ["tests.fixtures.testbed"]
