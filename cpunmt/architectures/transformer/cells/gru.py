"""GRU, the gated recurrent unit: its gates read the input and the state.

    r_t = sigmoid(W_r x_t + U_r s_{t-1} + b_r),   z_t = sigmoid(W_z x_t + U_z s_{t-1} + b_z)
    s_t = (1 - z_t) * tanh(W x_t + r_t * (U s_{t-1}) + b) + z_t * s_{t-1},   y_t = s_t

Cho et al. 2014, https://arxiv.org/abs/1406.1078, with the reset gate after the product, as in Marian. State: s.
"""

from cpunmt.architectures.transformer.cells.recurrent import recurrent_cell
from cpunmt.kernels.recurrent_cells import gru_row

gru_cell = recurrent_cell(gru_row)
