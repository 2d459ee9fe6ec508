# SPDX-License-Identifier: Apache-2.0
"""What is made of times: quantiles, ratios with their intervals, and what a set of models says together.

A time is the 20 % quantile over all calls of all rounds. A ratio is the peer's time over ours. Rounds, not calls, are
drawn for the interval: calls of one round share its disturbances.
"""
import random

SHORT = 3e-4  # seconds; below it the time of an empty model through the same binding is taken off


def quantile(values, q=0.2):
    return sorted(values)[int(q * (len(values) - 1))]


def geomean(values):
    product = 1.0
    for v in values:
        product *= v
    return product ** (1 / len(values))


def pooled(rounds):
    return [t for r in rounds for t in r]


def net(seconds, empty):
    """A time without that of the call itself, where that matters."""
    return seconds - min(empty, 0.9 * seconds) if seconds < SHORT else seconds


def interval(ours, peer, subtract=(0.0, 0.0), samples=500):
    """95 % of the ratios that one gets from rounds drawn at random; `subtract` is taken off ours and the peer's."""
    rng, ratios = random.Random(1), []
    n = min(len(ours), len(peer))
    for _ in range(samples):
        draw = [rng.randrange(n) for _ in range(n)]
        a, b = (quantile(pooled([rounds[i] for i in draw])) - less for rounds, less in zip((ours, peer), subtract))
        ratios.append(b / a)
    return [quantile(ratios, 0.025), quantile(ratios, 0.975)]


def describe(rounds):
    """Latency of a contender over its rounds, in seconds."""
    calls = pooled(rounds)
    by_round = [quantile(r) for r in rounds]
    return {"p20": quantile(calls), "p50": quantile(calls, 0.5), "p95": quantile(calls, 0.95), "min": min(calls),
            "spread": max(by_round) / min(by_round), "rounds": len(rounds), "calls": len(calls)}


def verdict(ratios):
    """Of several models' (ratio, interval): the geometric mean, the worst, and the favourable end of the worst's interval."""
    worst = min(ratios, key=lambda r: r[0])
    return {"geomean": geomean([r for r, _ in ratios]), "worst": worst[0], "worst_at_best": worst[1][1], "models": len(ratios)}


def weighted_share(kernels, of):
    """Of kernels (seconds, least seconds): the share of `of`, weighted by time."""
    chosen = [(k["seconds"], least) for k in kernels if (least := of(k)) is not None]
    seconds = sum(s for s, _ in chosen)
    return (sum(least for _, least in chosen) / seconds, seconds) if seconds else (None, 0.0)
