# SPDX-License-Identifier: Apache-2.0
"""Parts of a report in Markdown."""


def ms(seconds):
    return f"{1e3 * seconds:.3g}" if seconds < 1e-2 else f"{1e3 * seconds:.1f}"


def table(head, lines):
    aligned = "|---|" + "---:|" * (len(head) - 1)
    return "\n".join(["| " + " | ".join(head) + " |", aligned, *("| " + " | ".join(map(str, line)) + " |" for line in lines)])


def absent(rows):
    """Who did not take part, and why."""
    reasons = {}
    for model, r in rows.items():
        for name, why in r["absent"].items():
            reasons.setdefault((name, why), []).append(model)
    return ["Not run:\n\n" + "\n".join(f"- {name}: {', '.join(models)}: {why}" for (name, why), models in reasons.items())] if reasons else []
