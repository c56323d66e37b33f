"""From a labelled set and five pools of unknown quality to a model: `mixmood train` and others."""
