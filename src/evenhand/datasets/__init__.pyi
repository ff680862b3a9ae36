from .images import (
    load_cifar10 as load_cifar10,
    load_fashion_mnist as load_fashion_mnist,
    load_utkface as load_utkface,
)
from .tables import (
    fetch_hepar2 as fetch_hepar2,
    load_adult as load_adult,
    load_compas as load_compas,
    load_diabetes as load_diabetes,
    load_family_income as load_family_income,
    load_german as load_german,
)
