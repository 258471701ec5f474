"""Figure 3: words translated for a dollar, on one core that costs so much an hour."""

PRICE = 0.096  # dollars an hour, what the paper pays for the machine whose one core it uses (AWS m5.large, 2019)


def measure(steps: list[dict], price: float) -> list[dict]:
    """Rows for what `steps.measure` found: millions of words per dollar by batch."""
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
