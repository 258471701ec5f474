"""Amer et al. 2022, "Fast Vocabulary Projection Method via Clustering for Multilingual Machine Translation on GPU".

https://arxiv.org/abs/2208.06874. Only its summary was available: clusters of decoder states made beforehand, the active
pieces of each cluster, ways to make clusters for several languages, and projections up to 2.6 times, translations up to
25 % faster on GPUs in 16 bits. Measured in kind, on one core:

    planted       random models of large vocabularies whose states have clusters: for speed only
    recorded      states of translations, and the clusters that the real code makes of them
    projection    the projection step: over the whole vocabulary, over each row's cluster, and as on a GPU over the
                  union of all rows' clusters; centroids in float32 and in 8 bits; how often the next step has the
                  same cluster
    end_to_end    whole translations, and memory
    sweep         Figures 3 and 4: numbers of clusters, and of pieces of each state, by a trained model
    languages     Figure 2: clusters for each target language, or one set for all, by a trained model
"""
