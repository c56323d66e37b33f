"""From a configuration to the runs it asks for."""
