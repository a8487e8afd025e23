"""The fetch stage: public data and models by name, downloaded once, checked ever after. Nothing else opens the network."""
