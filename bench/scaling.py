# SPDX-License-Identifier: Apache-2.0
"""How much faster two threads are than one, over the same for a loop of FMAs that takes as long, in the same rounds."""
import contest
import race
import zoo
from stats import quantile


def measure(name, rounds, progress):
    model = zoo.make(name)
    workers = {f"model{t}": race.start("tilewright", "f32", model, t) for t in (1, 2)}
    seconds = quantile(workers["model1"].slice(0.5))
    pace = contest.fma_worker(1, 100000)
    iterations = max(4000, int(100000 * seconds / quantile(pace.slice())))
    workers |= {f"fma{t}": contest.fma_worker(t, iterations) for t in (1, 2)}
    progress(f"{rounds} rounds")
    disturbed = contest.play(workers, pace, rounds)
    times = {n: w.time() for n, w in workers.items()}
    for w in [*workers.values(), pace]:
        w.close()
    gain, ideal = (times[f"{x}1"] / times[f"{x}2"] for x in ("model", "fma"))
    return {"seconds": times, "gain": gain, "fma_gain": ideal, "relative": gain / ideal, "disturbed": disturbed, "rounds": rounds}
