"""Amer et al. 2022, "Fast Vocabulary Projection Method via Clustering for Multilingual Machine Translation on GPU".

https://arxiv.org/abs/2208.06874. Its text was not at hand; its summary tells of decoder states that are clustered
beforehand, of the active pieces of each cluster, of ways to make clusters for several languages, and of projections up
to 2.6 times, translations up to 25 % faster on GPUs in 16 bits. Measured in kind, on one core:

    planted       random models of large vocabularies whose states have clusters: for speed only
    recorded      states of translations, and the clusters that the real code makes of them
    projection    the projection step: over the whole vocabulary, over each row's cluster, and as on a GPU over the
                  union of all rows' clusters; centroids in float32 and in 8 bits; how often a cluster is the next
                  step's too
    end_to_end    whole translations, and memory
    sweep         Figures 3 and 4: how many clusters, how many pieces of each state, by a trained model
    languages     Figure 2: clusters for each target language, or one set for all, by a trained model
"""
