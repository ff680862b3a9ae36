"""The cylinder of Projected Volume from the vertices of the set, slow and exact: Lobel, Paes Leme, Vladu (2017),
Section 4."""

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import Delaunay, HalfspaceIntersection


def vertices(normals, limits, low, high):
    """Return the vertices (n, m) of {x : low <= x <= high, normals x <= limits}, which has an inside."""
    m = low.size
    rows = np.vstack([normals, np.eye(m), -np.eye(m)])
    bounds = np.concatenate([limits, high, -low])
    lengths = np.linalg.norm(rows, axis=1)
    ball = linprog(np.r_[np.zeros(m), -1], A_ub=np.c_[rows, lengths], b_ub=bounds, bounds=[(None, None)] * (m + 1))
    return HalfspaceIntersection(np.c_[rows, -bounds], ball.x[:m]).intersections


def centroid(points):
    """Return the centroid of the convex hull of points (n, l), by its simplices."""
    if points.shape[1] == 1:
        return (points.min(axis=0) + points.max(axis=0)) / 2
    scale = np.ptp(points, axis=0)
    simplices = (points / scale)[Delaunay(points / scale).simplices]
    volumes = np.abs(np.linalg.det(simplices[:, 1:] - simplices[:, :1]))
    return scale * (volumes @ simplices.mean(axis=1)) / volumes.sum()


def cylinder_centroid(points, wide, thin):
    """Return the centroid of Cyl(K, S): K's vertices, an orthonormal basis of L and one of S, both in rows."""
    along = points @ thin.T
    centre = (along.min(axis=0) + along.max(axis=0)) / 2 @ thin
    return centre + centroid(points @ wide.T) @ wide if len(wide) else centre
