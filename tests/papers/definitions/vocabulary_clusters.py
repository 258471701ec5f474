"""Paper D, Fast Vocabulary Projection Method via Clustering: active sets of clusters, and the projection of a step."""

import numpy as np


def active_set(members, k):
    """Returns the union of the `k` most probable pieces of each member; a member is a row of probabilities."""
    union = set()
    for probabilities in members:
        union |= set(np.argsort(-probabilities, kind="stable")[:k].tolist())
    return union


def nearest(state, centroids):
    """Returns the cluster of the least Euclidean distance: of C^2 - 2 h C, since h^2 is the same for all."""
    return int(np.argmin([c @ c - 2 * (state @ c) for c in centroids]))


def k_means_step(states, centroids):
    """One of the 20 iterations: each centroid becomes the mean of the states nearest to it; an empty one stays."""
    assigned = np.array([nearest(state, centroids) for state in states])
    return np.array([states[assigned == j].mean(0) if (assigned == j).any() else c for j, c in enumerate(centroids)])


def projection(states, weights, bias, centroids, sets):
    """The logits of a step: columns in the united sets of all rows' clusters; all others are -infinity."""
    active = np.zeros(len(bias), bool)
    for state in states:
        active[sorted(sets[nearest(state, centroids)])] = True
    logits = np.full((len(states), len(bias)), -np.inf)
    logits[:, active] = states @ weights[:, active] + bias[active]
    return logits
