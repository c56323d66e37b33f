"""The records that pass between layers: frozen, versioned, the same bytes for the same inputs."""
