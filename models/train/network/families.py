"""The network of each family."""

import torch

from cpunmt.architectures.families import family_name
from cpunmt.model.config import ModelConfig
from models.train.network.network import Network
from models.train.recurrent.network import RecurrentNetwork

NETWORKS = {"transformer": Network, "recurrent": RecurrentNetwork}


def network_of(config: ModelConfig, tensors: dict[str, torch.Tensor]) -> Network | RecurrentNetwork:
    """Returns the network of `config` with these parameters."""
    return NETWORKS[family_name(config.architecture)](config, tensors)
