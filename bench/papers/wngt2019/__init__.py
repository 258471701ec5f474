"""Kim et al. 2019, "From Research to Production and Back", https://aclanthology.org/D19-5632, in kind: on one core.

The paper's measurements of students, repeated with ours, with the same changes one after the other:

    steps       Table 2: float32, 16 bits, 8 bits, finished sentences removed; one sentence at a time and 32 together
    decoders    Figure 1: self-attention, AAN, SRU, SSRU, SSRU with tied layers: speed, and BLEU of trained ones
    sigmas      the range of an int8 column, in standard deviations
    sizes       Table 3: megabytes of the weights of each shape in each scheme
    cost        Figure 3: words for a dollar

Each module makes one table; __main__ chooses models and sentences.
"""
