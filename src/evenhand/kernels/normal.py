"""The quantile of the standard normal distribution, to the last digits of a double.

Source: M. J. Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution", Applied Statistics 37
(1988), routine PPND16.
"""

from __future__ import annotations

import math

from evenhand.kernels.compose import kernel


@kernel
def quantile(p: float) -> float:
    """Return z with Phi(z) = p for p in (0, 1), relative error about 1e-16."""
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        top = 3.3430575583588128105e4 + r * 2.5090809287301226727e3
        top = 4.5921953931549871457e4 + r * (6.7265770927008700853e4 + r * top)
        top = 1.9715909503065514427e3 + r * (1.3731693765509461125e4 + r * top)
        top = 3.3871328727963666080e0 + r * (1.3314166789178437745e2 + r * top)
        low = 2.8729085735721942674e4 + r * 5.2264952788528545610e3
        low = 2.1213794301586595867e4 + r * (3.9307895800092710610e4 + r * low)
        low = 6.8718700749205790830e2 + r * (5.3941960214247511077e3 + r * low)
        low = 1.0 + r * (4.2313330701600911252e1 + r * low)
        return q * top / low
    r = math.sqrt(-math.log(p if q < 0.0 else 1.0 - p))
    if r <= 5.0:
        r -= 1.6
        top = 2.27238449892691845833e-2 + r * 7.74545014278341407640e-4
        top = 1.27045825245236838258e0 + r * (2.41780725177450611770e-1 + r * top)
        top = 5.76949722146069140550e0 + r * (3.64784832476320460504e0 + r * top)
        top = 1.42343711074968357734e0 + r * (4.63033784615654529590e0 + r * top)
        low = 5.47593808499534494600e-4 + r * 1.05075007164441684324e-9
        low = 1.48103976427480074590e-1 + r * (1.51986665636164571966e-2 + r * low)
        low = 1.67638483018380384940e0 + r * (6.89767334985100004550e-1 + r * low)
        low = 1.0 + r * (2.05319162663775882187e0 + r * low)
    else:
        r -= 5.0
        top = 2.71155556874348757815e-5 + r * 2.01033439929228813265e-7
        top = 2.65321895265761230930e-2 + r * (1.24266094738807843860e-3 + r * top)
        top = 1.78482653991729133580e0 + r * (2.96560571828504891230e-1 + r * top)
        top = 6.65790464350110377720e0 + r * (5.46378491116411436990e0 + r * top)
        low = 1.42151175831644588870e-7 + r * 2.04426310338993978564e-15
        low = 7.86869131145613259100e-4 + r * (1.84631831751005468180e-5 + r * low)
        low = 1.36929880922735805310e-1 + r * (1.48753612908506148525e-2 + r * low)
        low = 1.0 + r * (5.99832206555887937690e-1 + r * low)
    return -top / low if q < 0.0 else top / low
