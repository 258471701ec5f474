"""Figure 3: words translated for a dollar, on one core at an hourly price."""

PRICE = 0.096  # dollars an hour: the paper's machine with one used core (AWS m5.large, 2019)


def measure(steps: list[dict], price: float) -> list[dict]:
    """Returns rows for the result of `steps.measure`: millions of words per dollar by batch."""
    return [
        {
            "name": row["name"],
            "batches": {size: found["words_per_second"] * 3600 / price / 1e6 for size, found in row["batches"].items()},
        }
        for row in steps
    ]


def show(rows: list[dict], price: float):
    print(f"\nFigure 3 in kind: million words per dollar, at {price} dollars an hour")
    for row in rows:
        told = ", ".join(f"batch {size}: {millions:.0f}" for size, millions in row["batches"].items())
        print(f"{row['name']:18} {told}")
