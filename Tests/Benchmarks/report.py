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


def result(name: str, ours: Series, better: str, baseline: str | None, theirs: Series | None, budget: float | None,
           of_value: bool = False) -> dict:
    """`budget` bounds the ratio of the medians, ours to theirs; without a baseline, or with `of_value`, it bounds the value. A case
    without a budget is there to be compared."""
    ratio = ours.median / theirs.median if theirs else None
    judged = ratio if ratio is not None and not of_value else ours.median
    return {
        "name": name, "value": round(ours.median, 3), "unit": ours.unit, "better": better,
        "baseline": baseline, "baseline_value": round(theirs.median, 3) if theirs else None,
        "ratio": round(ratio, 3) if ratio is not None else None, "budget": budget, "budget_of": "value" if judged is not ratio else "ratio",
        "ok": None if budget is None else judged <= budget if better == "lower" else judged >= budget,
    }


def write(path: str, content) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w") as file:
        json.dump(content, file, indent=2)
        file.write("\n")
    os.replace(path + ".new", path)


def summary(results: list[dict]) -> str:
    lines = ["", f"  {'':<5}{'case':<28} {'ours':>12} {'unit':<22} {'beside':<22} {'ratio':>6}  budget"]
    for item in results:
        sign = "<=" if item["better"] == "lower" else ">="
        of = "x" if item["budget_of"] == "ratio" else f" {item['unit']}"
        budget = "none" if item["budget"] is None else f"{sign} {item['budget']:g}{of}"
        beside = f"{item['baseline']} {item['baseline_value']:g}" if item["baseline"] else ""
        ratio = f"{item['ratio']:.2f}" if item["ratio"] is not None else ""
        verdict = {True: "ok", False: "MISS", None: ""}[item["ok"]]
        lines.append(f"  {verdict:<5}{item['name']:<28} {item['value']:>12g} {item['unit']:<22} {beside:<22} {ratio:>6}  {budget}")
    return "\n".join(lines)
