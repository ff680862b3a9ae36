"""The experiments of Shekhar, Fields, Ghavamzadeh and Javidi (2021)."""

from evenhand.experiments.sampling.images import cifar10_experiment, fashion_mnist_experiment, utkface_experiment
from evenhand.experiments.sampling.labels import labels
from evenhand.experiments.sampling.synthetic import fig1, fig2, fig8, fig10, reweighting
from evenhand.experiments.sampling.tables import adult_experiment, german_experiment
from evenhand.experiments.sampling.uniform_labels import adult_labels, digits_labels

__all__ = [
    "adult_experiment",
    "adult_labels",
    "cifar10_experiment",
    "digits_labels",
    "fashion_mnist_experiment",
    "fig1",
    "fig2",
    "fig8",
    "fig10",
    "german_experiment",
    "labels",
    "reweighting",
    "utkface_experiment",
]
