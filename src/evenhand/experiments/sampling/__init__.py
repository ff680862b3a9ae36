"""The experiments of Shekhar, Fields, Ghavamzadeh and Javidi (2021)."""

from evenhand.experiments.sampling.images import cifar10_experiment, fashion_mnist_experiment, utkface_experiment
from evenhand.experiments.sampling.synthetic import fig1, fig2, fig8, fig10, reweighting
from evenhand.experiments.sampling.tables import adult_experiment, german_experiment

__all__ = [
    "adult_experiment",
    "cifar10_experiment",
    "fashion_mnist_experiment",
    "fig1",
    "fig2",
    "fig8",
    "fig10",
    "german_experiment",
    "reweighting",
    "utkface_experiment",
]
