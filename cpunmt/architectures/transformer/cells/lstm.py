"""LSTM, long short-term memory: a state of two parts, and four gates that read the input and one of them.

    f_t, i_t, g_t, o_t = W x_t + U h_{t-1} + b
    c_t = sigmoid(f_t) * c_{t-1} + sigmoid(i_t) * tanh(g_t),   h_t = sigmoid(o_t) * tanh(c_t),   y_t = h_t

Hochreiter and Schmidhuber 1997, https://doi.org/10.1162/neco.1997.9.8.1735, with the forget gate of Gers et al. 2000,
in Marian's order. State: h, then c.
"""

from cpunmt.architectures.transformer.cells.recurrent import recurrent_cell
from cpunmt.kernels.recurrent_cells import lstm_row

lstm_cell = recurrent_cell(lstm_row)
