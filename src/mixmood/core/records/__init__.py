"""Records that are passed between layers: frozen, versioned, the same bytes for the same inputs."""
