"""Amer et al. 2022, "Fast Vocabulary Projection Method via Clustering for Multilingual Machine Translation on GPU".

https://arxiv.org/abs/2208.06874. Active in a cluster are the K best pieces of all its members. Its numbers and ours:
docs/papers.md. Measured in kind, on one core:

    planted       random models of large vocabularies whose states have clusters: for speed only
    recorded      states of translations, and the clusters that the real code makes of them
    projection    the projection step: over the whole vocabulary, over each row's cluster, and as on a GPU over the
                  union of all rows' clusters; centroids in float32 and in 8 bits; how often the next step has the
                  same cluster
    end_to_end    whole translations, and memory
    sweep         Figures 3 and 4: numbers of clusters, and of pieces of each state, by a trained model; shares of
                  active pieces of the single clusters
    languages     Figure 2: clusters for each target language, or one set for all, by a trained model
"""
