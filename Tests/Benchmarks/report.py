"""What was measured, as a table for people and as a file for programs."""

import json
import os
import statistics


class Series:
    """Values of one thing over the rounds."""

    def __init__(self, unit: str, values: list[float]):
        self.unit, self.values = unit, values

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def row(self, name: str) -> str:
        return f"  {name:<34} {self.median:>12.2f} {min(self.values):>12.2f} {max(self.values):>12.2f}  {self.unit}"


HEADING = f"  {'':<34} {'median':>12} {'min':>12} {'max':>12}"


def result(name: str, ours: Series, better: str, baseline: str | None, theirs: Series | None, budget: float) -> dict:
    """`budget` bounds the ratio of the medians, ours to theirs; without a baseline it bounds the value."""
    ratio = ours.median / theirs.median if theirs else None
    judged = ratio if ratio is not None else ours.median
    return {
        "name": name, "value": round(ours.median, 3), "unit": ours.unit, "better": better,
        "baseline": baseline, "baseline_value": round(theirs.median, 3) if theirs else None,
        "ratio": round(ratio, 3) if ratio is not None else None, "budget": budget,
        "ok": judged <= budget if better == "lower" else judged >= budget,
    }


def write(path: str, content) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w") as file:
        json.dump(content, file, indent=2)
        file.write("\n")
    os.replace(path + ".new", path)


def summary(results: list[dict]) -> str:
    lines = ["", "  budget"]
    for item in results:
        sign = "<=" if item["better"] == "lower" else ">="
        if item["ratio"] is None:
            judged = f"{item['value']:.1f} {item['unit']} {sign} {item['budget']:g}"
        else:
            judged = f"{item['ratio']:.2f}x of {item['baseline']} {sign} {item['budget']:g}x"
        lines.append(f"  {'ok  ' if item['ok'] else 'MISS'} {item['name']:<16} {judged}")
    return "\n".join(lines)
