# SPDX-License-Identifier: Apache-2.0
"""f32 GEMMs on one thread against OpenBLAS and MKL. B is packed beforehand for ours and for `mkl_packed`."""
import contest
from stats import geomean, interval

SHAPES = [(256, 256, 256), (1024, 1024, 1024), (3136, 64, 64), (3136, 256, 64), (784, 512, 128),
          (196, 1024, 256), (49, 2048, 512)]
PEERS = ["openblas", "mkl", "mkl_packed"]


def best_tile(shares, m, n, k):
    """Rows and columns of the tile that did best in the shares of peak."""
    rows = [r for r in shares if r["kind"] == "gemm" and r["name"] == f"{m},{n},{k}"]
    best = max(rows, key=lambda r: (r["share"], -r["seconds"]))
    height, width = best["tile"].split("x")
    return int(height), int(width)


def contend(shape, tile, probe, rounds):
    size = [str(x) for x in shape]
    workers = {"tilewright": contest.Worker([contest.PROGRAMS / "gemm_worker", *size, *map(str, tile), "1"])}
    for blas in PEERS:
        workers[blas] = contest.python_worker("blas_worker.py", blas, *size)
    present = {name: w for name, w in workers.items() if w.ready}
    disturbed = contest.play(present, probe, rounds)
    seconds = {name: w.time() for name, w in present.items()}
    best = min((p for p in PEERS if p in present), key=seconds.get, default=None)
    row = {"shape": list(shape), "seconds": seconds, "best_peer": best, "disturbed_rounds": disturbed, "rounds": rounds}
    if best:
        row["ratio"] = seconds[best] / seconds["tilewright"]
        row["interval"] = interval(present["tilewright"].rounds, present[best].rounds)
    for w in workers.values():
        w.close()
    return row


def compare(shares, lanes, rounds):
    probe = contest.fma_worker()
    results = []
    for m, n, k in SHAPES:
        height, width = best_tile(shares, m, n, k)
        row = contend((m, n, k), (height, width // lanes), probe, rounds)
        results.append(row)
        flops = 2.0 * m * n * k
        print(f"{m:5},{n:5},{k:5}  " + "  ".join(f"{p} {flops / t * 1e-9:7.1f}" for p, t in row["seconds"].items()) +
              (f"   {row['ratio']:.2f}x {row['best_peer']} [{row['interval'][0]:.2f}, {row['interval'][1]:.2f}]"
               if row["best_peer"] else ""), flush=True)
    ratios = [r["ratio"] for r in results if r["best_peer"]]
    if ratios:
        print(f"worst {min(ratios):.2f}, geometric mean {geomean(ratios):.2f}")
    probe.close()
    return results


def scaling(shares, lanes, rounds, size=1024):
    """How much faster two threads are than one, over the same for a loop of FMAs that takes as long."""
    height, width = best_tile(shares, size, size, size)
    gemm = [contest.PROGRAMS / "gemm_worker", *[str(size)] * 3, str(height), str(width // lanes)]
    workers = {f"gemm{t}": contest.Worker([*gemm, str(t)]) for t in (1, 2)}
    iterations = str(2 * size ** 3 // (24 * lanes))
    workers |= {f"fma{t}": contest.fma_worker(t, iterations) for t in (1, 2)}
    probe = contest.fma_worker()
    disturbed = contest.play(workers, probe, rounds)
    seconds = {name: w.time() for name, w in workers.items()}
    for w in [*workers.values(), probe]:
        w.close()
    gemm_gain, fma_gain = (seconds[f"{x}1"] / seconds[f"{x}2"] for x in ("gemm", "fma"))
    print(f"{size}^3 on two threads: {gemm_gain:.2f} times one; FMAs alone {fma_gain:.2f}; relative {gemm_gain / fma_gain:.2f}")
    return {"size": size, "seconds": seconds, "relative": gemm_gain / fma_gain, "disturbed_rounds": disturbed, "rounds": rounds}
