"""Files that PyTorch's `torch.save` writes."""
