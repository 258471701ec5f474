"""Paper C, Sharp Models on Dull Hardware: the decoders S1 to S7, and what makes them faster.

Vectors are rows. A network is a dictionary of small ones, each named by its role. The document has lost its formulas:
gates are those of Cho et al. 2014, attention is that of Bahdanau et al. 2014, and the stack is the published one, as
remembered.
"""

import math

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gru(p, inputs, state):
    """A gated recurrent unit; p has matrices of inputs Wz, Wr, W, of the state Uz, Ur, U, and biases bz, br, b."""
    update = sigmoid(inputs @ p["Wz"] + state @ p["Uz"] + p["bz"])
    reset = sigmoid(inputs @ p["Wr"] + state @ p["Ur"] + p["br"])
    candidate = np.tanh(inputs @ p["W"] + reset * (state @ p["U"]) + p["b"])
    return ((1 - update) * candidate + update * state,)


def lstm(p, inputs, state, cell):
    """A long short-term memory; p has W, U, b of the gates i, f, o and of the candidate c. Returns state and cell."""
    i, f, o = (sigmoid(inputs @ p["W" + g] + state @ p["U" + g] + p["b" + g]) for g in "ifo")
    cell = f * cell + i * np.tanh(inputs @ p["Wc"] + state @ p["Uc"] + p["bc"])
    return o * np.tanh(cell), cell


def attention(p, state, words):
    """Returns the mean of the encoded words, weighted by their match with the previous target state."""
    scores = np.array([np.tanh(state @ p["query"] + word @ p["key"] + p["bias"]) @ p["score"] for word in words])
    weights = np.exp(scores - scores.max())
    return (weights / weights.sum()) @ words


def read(layers, cell, inputs, skip_from=None):
    """A stack of layers over all words, from the first; from layer `skip_from` on a layer's input is added to it.

    A layer is a pair of a cell's numbers and its first state, a tuple; `cell` returns the next one.
    """
    for number, (p, state) in enumerate(layers, 1):
        outputs = []
        for x in inputs:
            state = cell(p, x, *state)
            outputs.append(state[0])
        skips = skip_from is not None and number >= skip_from
        inputs = [x + y for x, y in zip(inputs, outputs, strict=True)] if skips else outputs
    return np.array(inputs)


def both_ways(forwards, backwards, cell, words):
    """An encoder that reads both ways: for each word the last layers of two stacks, side by side.

    The document does not say whether a layer reads both directions of the layer below; here it reads its own.
    """
    return np.concatenate([read(forwards, cell, words), read(backwards, cell, words[::-1])[::-1]], axis=1)


def fc_stack(matrices, biases, state, limit=10.0):
    """Fully connected layers above `state`: ReLUs of at most `limit`, a skip into every other layer from the third on.

    h1 = relu(W1 h0), h2 = relu(W2 h1), h3 = relu(W3 h2 + h1), h4 = relu(W4 h3), h5 = relu(W5 h4 + h3): sums are inside.
    """
    outputs = [state]
    for number, (matrix, bias) in enumerate(zip(matrices, biases, strict=True), 1):
        total = outputs[-1] @ matrix + bias
        if number >= 3 and number % 2 == 1:
            total = total + outputs[number - 2]
        outputs.append(np.minimum(np.maximum(total, 0), limit))
    return outputs[-1]


def decoder_step(network, cell, word, states, words):
    """One step of S1 to S7; returns the top's output and the new states.

    `network` has `attention`, `bottom` (a cell that reads the previous word and the context), `above` (further cells;
    from the first of them on, a layer's input is added to its output if `skip`), `stack` (matrices and biases), and at
    most one of `tanh` (matrix, bias) and `top` (a cell). `states` are those of all cells, as tuples.
    """
    context = attention(network["attention"], states[0][0], words)
    new = [cell(network["bottom"], np.concatenate([word, context]), *states[0])]
    output = new[0][0]
    for p, state in zip(network["above"], states[1:], strict=False):
        new.append(cell(p, output, *state))
        output = new[-1][0] + output if network["skip"] else new[-1][0]
    output = fc_stack(*network["stack"], output)
    if "tanh" in network:
        output = np.tanh(output @ network["tanh"][0] + network["tanh"][1])
    if "top" in network:
        new.append(cell(network["top"], output, *states[-1]))
        output = new[-1][0]
    return output, new


def merged(histories):
    """Merged states: hypotheses that differ by the last word only share the previous state.

    Returns the number of different states that are multiplied, for hypotheses as tuples of words.
    """
    return len({words[:-1] for words in histories})


def candidates(sentence, translations, best=20):
    """The words that the output layer scores: the `best` context-free translations of each word of the source."""
    return sorted({target for word in sentence for target in translations.get(word, [])[:best]})


def may_stop(partial, complete):
    """Early stopping: ends when the best partial hypothesis has a worse log score than the best complete one."""
    return bool(complete) and max(partial, default=-math.inf) < max(complete)
