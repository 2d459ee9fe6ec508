# SPDX-License-Identifier: Apache-2.0
# Made by tools/steps_doc.py from src/schedule/steps.h and schedule.h.
"""The steps of a schedule as methods: each writes its line of the trace, and gives handles for its results."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, Union

from ._step_text import (AnyRef, Block, BlockRef, Loop, Number, any_text, block_text, hint_text, layout_text, loop_text,
                         map_text, number_text, string_text, word_text)

Target = TypeVar("Target", Loop, Block)


class Steps:
    def _run(self, step: str, *arguments) -> list[str]:
        raise NotImplementedError

    def block(self, block: str) -> Block:
        """The block of that name.
        """
        return Block(self, self._run("block", string_text(self, block))[0])

    def loops(self, block: BlockRef) -> list[Loop]:
        """The loops around a block, outermost first.
        """
        return [Loop(self, r) for r in self._run("loops", block_text(self, block))]

    def split(self, loop: Loop, factors: Sequence[Number]) -> list[Loop]:
        """for i in 0..n { S }
          ->  for i_0 in 0..ceil(n/f) { for i_1 in 0..f { if i_0*f + i_1 < n { S } } }
        The condition is dropped when the prover shows that the factors' product is n; it goes into the
        predicates of the blocks below. One factor may be open. Legal on every serial loop.
        """
        return [Loop(self, r) for r in self._run("split", loop_text(self, loop), [number_text(self, x) for x in factors])]

    def fuse(self, loops: Sequence[Loop]) -> Loop:
        """for i in 0..n { for j in 0..m { S } }  ->  for i_j in 0..n*m { S[i := i_j / m, j := i_j % m] }
        Legal on perfectly nested serial loops whose extents do not depend on each other.
        """
        return Loop(self, self._run("fuse", [loop_text(self, x) for x in loops])[0])

    def reorder(self, loops: Sequence[Loop]) -> None:
        """for i { for j { S } }  ->  for j { for i { S } }
        The named loops take each other's places in the given order; loops between them stay. Legal when
        no pair of accesses is carried by two loops whose order changes; reductions may be reordered.
        """
        self._run("reorder", [loop_text(self, x) for x in loops])

    def tile(self, loops: Sequence[Loop], factors: Sequence[Number]) -> list[Loop]:
        """split each loop by its factor, then order all outer parts before all inner parts.
        """
        return [Loop(self, r) for r in self._run("tile", [loop_text(self, x) for x in loops], [number_text(self, x) for x in factors])]

    def vectorize(self, loop: Loop) -> None:
        """for i { S } -> vectorized for i { S }. Legal when no iteration needs another's result, but for
        reductions; the extent is a constant of at most 1024.
        """
        self._run("vectorize", loop_text(self, loop))

    def unroll(self, loop: Loop) -> None:
        """for i { S } -> unrolled for i { S }. The extent is a constant of at most 4096.
        """
        self._run("unroll", loop_text(self, loop))

    def parallel(self, loop: Loop) -> None:
        """for i { S } -> parallel for i { S }. Legal when no two iterations touch one element, one
        writing.
        """
        self._run("parallel", loop_text(self, loop))

    def bind(self, loop: Loop, axis: str) -> None:
        """for i { S } -> bind(axis) for i { S }: one hardware block or thread for each iteration.
        """
        self._run("bind", loop_text(self, loop), word_text(self, axis))

    def vthread(self, loop: Loop) -> None:
        """for i { S } -> vthread for i { S }: independent iterations that a target interleaves.
        """
        self._run("vthread", loop_text(self, loop))

    def partition(self, loop: Loop, points: Sequence[Number]) -> list[Loop]:
        """for i in 0..n { S }  ->  for i_0 in 0..p { S }  for i_1 in p..q { S }  for i_2 in q..n { S }
        Peels borders and tails, so that what is guarded at the borders is free in the middle.
        """
        return [Loop(self, r) for r in self._run("partition", loop_text(self, loop), [number_text(self, x) for x in points])]

    def fission(self, loop: Loop, after: Number) -> list[Loop]:
        """for i { S; T }  ->  for i { S }  for i_1 { T }, between the statements `after` and the next.
        Legal when nothing in S of a later iteration touches what T of an earlier one touches.
        """
        return [Loop(self, r) for r in self._run("fission", loop_text(self, loop), number_text(self, after))]

    def merge(self, first: Loop, second: Loop) -> Loop:
        """for i in 0..n { S }  for j in 0..n { T }  ->  for i in 0..n { S; T[j := i] }
        Legal on neighbours of equal range when T of an iteration touches nothing that S of a later one
        touches. Buffers declared between them are declared before both.
        """
        return Loop(self, self._run("merge", loop_text(self, first), loop_text(self, second))[0])

    def swizzle_order(self, y: Loop, x: Loop, group: Number) -> Loop:
        """for y in 0..Y { for x in 0..X { S } }          group 4
          ->  for y_x in 0..ceil(Y/4)*X*4 { S[y := y_x / (X*4) * 4 + y_x % 4, x := y_x / 4 % X] }
        Goes through a grid of tiles in bands of `group` rows, down the columns of a band, so that what
        neighbours in time share stays in cache. Legal when all iterations of the two loops are
        independent; S runs where y < Y.
        """
        return Loop(self, self._run("swizzle_order", loop_text(self, y), loop_text(self, x), number_text(self, group))[0])

    def specialize(self, target: Target, condition: str) -> list[Target]:
        """for i { S }          "n % 16 == 0"
          ->  if n % 16 == 0 { for i { S } } else { for i { S_else } }
        A variant for a condition on symbols, lets and loops around; what the condition makes true or
        false disappears from the predicates of the first copy. Gives both loops, or both blocks.
        """
        return [type(target)(self, r) for r in self._run("specialize", any_text(self, target), string_text(self, condition))]

    def annotate(self, target: AnyRef, key: str, value: Union[Number, str]) -> None:
        """for i { S }  ->  for i hints (key = value) { S }
        Leaves a hint on a loop or block that later parts may read; no meaning depends on it.
        """
        self._run("annotate", any_text(self, target), string_text(self, key), hint_text(self, value))

    def compute_at(self, block: BlockRef, loop: Loop) -> None:
        """Moves a producer into a loop of its consumers, computing there just the region they need.
        """
        self._run("compute_at", block_text(self, block), loop_text(self, loop))

    def compute_root(self, block: BlockRef) -> None:
        """for y { for r in 0..3 { B[y + r] = f(A[y + r]) }  C[y] = g(B[y +: 3]) }
          ->  for r in 0..n { B[r] = f(A[r]) }  for y { C[y] = g(B[y +: 3]) }
        Moves a producer out of all loops: the whole of it is computed first. Undoes compute_at.
        """
        self._run("compute_root", block_text(self, block))

    def reverse_compute_at(self, block: BlockRef, loop: Loop) -> None:
        """Moves a consumer into a loop of its producer, right after the region it reads is complete.
        """
        self._run("reverse_compute_at", block_text(self, block), loop_text(self, loop))

    def compute_inline(self, block: BlockRef) -> None:
        """Puts the producer's expression in the place of every load of its result.
        """
        self._run("compute_inline", block_text(self, block))

    def reverse_compute_inline(self, block: BlockRef) -> None:
        """Lets the producer store what the consumer would have made of its result.
        """
        self._run("reverse_compute_inline", block_text(self, block))

    def cache_read(self, block: BlockRef, buffer: str, scope: str) -> Block:
        """Copies a buffer that `block` reads into a new one of the given scope, and lets it read that.
        """
        return Block(self, self._run("cache_read", block_text(self, block), string_text(self, buffer), word_text(self, scope))[0])

    def cache_write(self, block: BlockRef, buffer: str, scope: str) -> Block:
        """Lets `block` write a new buffer of the given scope, which a new block copies out.
        """
        return Block(self, self._run("cache_write", block_text(self, block), string_text(self, buffer), word_text(self, scope))[0])

    def set_scope(self, block: BlockRef, buffer: str, scope: str) -> None:
        """Moves the buffer that `block` writes to another scope. Parameters stay global.
        """
        self._run("set_scope", block_text(self, block), string_text(self, buffer), word_text(self, scope))

    def store_at(self, block: BlockRef, loop: Loop) -> None:
        """alloc B: f32[n]  for y { B[y] = f(A[y])  C[y] = g(B[y]) }
          ->  for y { alloc B: f32[n]  B[y] = f(A[y])  C[y] = g(B[y]) }
        Lets the buffer that `block` writes live for one iteration of the loop. Legal when all that an
        iteration reads of it is written before in the same iteration.
        """
        self._run("store_at", block_text(self, block), loop_text(self, loop))

    def rolling_buffer(self, block: BlockRef, loop: Loop) -> None:
        """for y { alloc B: f32[n]  for r in 0..3 { B[y + r] = f(A[y + r]) }  C[y] = g(B[y +: 3]) }
          ->  alloc B: f32[3]
              for y { for r in 0..3 { if y <= 0 || r >= 2 { B[(y + r) % 3] = f(A[y + r]) } }
                      C[y] = g(B[(y +: 3) % 3]) }
        Keeps what iterations of `loop` share in a ring: the first iteration computes its whole window,
        each later one only what is new. Legal when the window has a constant size and moves by a
        constant number of rows along one dimension, and consumers read inside of it.
        """
        self._run("rolling_buffer", block_text(self, block), loop_text(self, loop))

    def set_layout(self, block: BlockRef, buffer: str, layout: str) -> None:
        """alloc A: f32[8, 8]
          ->  alloc A: f32[8, 8] layout (i, j) -> [address: i, address: j ^ i] extents [8, 8]
        Places the elements of a buffer by a layout function; indices stay as they are.
        """
        self._run("set_layout", block_text(self, block), string_text(self, buffer), layout_text(self, layout))

    def reindex(self, block: BlockRef, buffer: str) -> Block:
        """for y { for k { C[y] += A[y*2 + k] } }
          ->  for y { for k { A_reindex[y, k] = A[y*2 + k] } }
              for y { for k { C[y] += A_reindex[y, k] } }
        Lets `block` read or write a buffer at exactly its iterators, through a copy that has one
        dimension for each iterator that the old index used.
        """
        return Block(self, self._run("reindex", block_text(self, block), string_text(self, buffer))[0])

    def pad(self, block: BlockRef, multiples: Sequence[Number]) -> list[Block]:
        """for y in 0..5 { for k in 0..7 { C[y] += A[y, k] } }          multiples [4, 8]
          ->  for y in 0..8 { for k in 0..8 { A_pad[y, k] = guard(y < 5 && k < 7, A[y, k], 0.0) } }
              for y in 0..8 { for k in 0..8 { C_pad[y] += A_pad[y, k] } }
              for y in 0..5 { C[y] = C_pad[y] }
        Makes each iterator's extent a multiple, so that instructions fit. Padding is 0 or the reducer's
        identity; the step refuses when neither makes the terms that it adds neutral. Gives the blocks
        that fill the padded inputs, then those that copy the results out.
        """
        return [Block(self, r) for r in self._run("pad", block_text(self, block), [number_text(self, x) for x in multiples])]

    def round_up(self, block: BlockRef, multiples: Sequence[Number], repeated: Sequence[Number] | None = None) -> None:
        """alloc C: f32[n]      for y in 0..n { C[y] = A[y] }                            multiples [4]
          ->  alloc C: f32[ceil(n/4)*4]
              for y in 0..ceil(n/4)*4 { C[y] = guard(y < n, A[y], 0.0) }    repeated [0]
              for y in 0..ceil(n/4)*4 { C[y] = A[min(y, n - 1)] }           repeated [1]
        Computes elements that nobody reads, so that tiles of spatial iterators are never cut short:
        what remains of a tail are guarded loads, or loads of the last element again, which cost nothing
        where the iterator is not the lanes of vectors. Nothing else may fill the result, which must be
        allocated.
        """
        self._run("round_up", block_text(self, block), [number_text(self, x) for x in multiples], *([] if repeated is None else [[number_text(self, x) for x in repeated]]))

    def transform_layout(self, block: BlockRef, buffer: str, map: Callable[..., object]) -> None:
        """Keeps a buffer in another order: every access B[i, j] becomes B[map(i, j)].
        """
        self._run("transform_layout", block_text(self, block), string_text(self, buffer), map_text(self, map))

    def decompose_reduction(self, block: BlockRef, loop: Loop) -> Block:
        """Splits `init` off a reduction, into a block of its own before `loop`.
        """
        return Block(self, self._run("decompose_reduction", block_text(self, block), loop_text(self, loop))[0])

    def rfactor(self, block: BlockRef, loop: Loop) -> list[Block]:
        """for ko { for ki { C[y] += A[y, ko, ki] } }      at ko
          ->  for ko { for ki { C_rf[y, ko] += A[y, ko, ki] } }   for ko { C[y] += C_rf[y, ko] }
        Makes partial results along one reduction loop, which then may run in parallel or as lanes.
        """
        return [Block(self, r) for r in self._run("rfactor", block_text(self, block), loop_text(self, loop))]

    def prefetch(self, at: Loop, along: Loop, buffer: str, distance: Number, level: Number) -> None:
        """for k { S(A[k]) }  ->  for k { prefetch 1 A[min(k + distance, n - 1)]  S(A[k]) }
        Asks, at the head of `at`, for the element of `buffer` that its body touches first when `along`
        (that loop or one around it) is `distance` iterations further on; clamped to the buffer. Legal
        on parameters: only what the caller made is far away.
        """
        self._run("prefetch", loop_text(self, at), loop_text(self, along), string_text(self, buffer), number_text(self, distance), number_text(self, level))

    def prefetch_next(self, at: Loop, along: Loop, buffer: str, level: Number) -> None:
        """for p { for r in 0..4 { for k { S(B[p, k, …]) } } }
          ->  for p { for r in 0..4 { for k { prefetch 2 B[(p + 1) % n, k, r * 16]  S(B[p, k, …]) } } }
        Asks, at the head of `at`, for what its body touches of `buffer` in the next iteration of
        `along`, a loop around it. Loops between the two that touch the same ask for a part each. Legal
        on buffers in memory of which an iteration touches a row of known length.
        """
        self._run("prefetch_next", loop_text(self, at), loop_text(self, along), string_text(self, buffer), number_text(self, level))

    def double_buffer(self, loop: Loop, buffer: str) -> None:
        """for k { alloc B: f32[8]  S(B[i]) }  ->  alloc B: f32[2, 8]  for k { S(B[k % 2, i]) }
        Neighbouring iterations use different halves. Legal on buffers that one iteration allocates.
        """
        self._run("double_buffer", loop_text(self, loop), string_text(self, buffer))

    def pipeline(self, loop: Loop, stages: Number, overlap: str = "sync") -> Loop:
        """for k in 0..n { alloc B  B[i] = A[k, i]  S(B) }      3 stages
          ->  alloc B: f32[3, …]
              for k in 0..n + 2 { if k < n { B[k % 3, i] = A[k, i] }  if 2 <= k { S(B[(k - 2) % 3]) } }
        The statements at the head of the body that only fill buffers of the iteration run `stages` - 1
        iterations ahead of the rest. Lowering cuts the loop into prologue, steady state and epilogue.
        With `async` they are issued on a channel of as many slots, which the rest waits for:
          if k < n { acquire ch[k]  async -> ch[k] { … }  commit ch[k] bytes … }
          if 2 <= k { wait ch[k - 2]  S  release ch[k - 2] }
        """
        return Loop(self, self._run("pipeline", loop_text(self, loop), number_text(self, stages), word_text(self, overlap))[0])

    def stagger(self, loop: Loop, delays: Sequence[Number], order: Sequence[Number]) -> Loop:
        """for k in 0..n { alloc B  B[i] = f(A[k, i])  C[k] = g(B) }      delays [0, 1], order [1, 0]
          ->  alloc B: f32[2, …]
              for k in 0..n + 1 { if 1 <= k { C[k - 1] = g(B[(k - 1) % 2]) }
                                  if k < n { B[k % 2, i] = f(A[k, i]) } }
        Each statement of the body runs `delays` iterations late, in the new `order` of their numbers,
        so that an iteration works on several old ones, whose loops can be merged. Legal when accesses
        that meet keep their order: in one iteration always, in different ones where the buffer lives
        longer than an iteration. Other buffers get a slot for each iteration in flight.
        """
        return Loop(self, self._run("stagger", loop_text(self, loop), [number_text(self, x) for x in delays], [number_text(self, x) for x in order])[0])

    def agents(self, loop: Loop, roles: Sequence[str], statements: Sequence[Number], slots: Number) -> list[Loop]:
        """for k { alloc B  B[i] = A[k, i]  S(B) }      ["load", "compute"] [1, 1], 2 slots
          ->  alloc B: f32[2, …]  channel load[2]
              agents { load: for k { acquire load[k]  B[k % 2, i] = A[k, i]  commit load[k] }
                       compute: for k { wait load[k]  S(B[k % 2])  release load[k] } }
        Agent number r runs the whole loop over the next `statements`[r] statements of its body. Legal
        when whatever one agent writes and another one touches lives for one iteration, is written by
        one agent only and handed on to later ones.
        """
        return [Loop(self, r) for r in self._run("agents", loop_text(self, loop), [string_text(self, x) for x in roles], [number_text(self, x) for x in statements], number_text(self, slots))]

    def persistent(self, loop: Loop, count: Number, workers: str = "parallel") -> list[Loop]:
        """for i in 0..n { S }
          ->  parallel for i_0 in 0..count { for i_1 in 0..ceil(n/count) {
                if i_1*count + i_0 < n { S[i := i_1*count + i_0] } } }
        A fixed number of workers takes the iterations in turn; with an axis their loop is bound to it.
        Legal when the iterations are independent.
        """
        return [Loop(self, r) for r in self._run("persistent", loop_text(self, loop), number_text(self, count), word_text(self, workers))]

    def cluster(self, loop: Loop, axis: str) -> None:
        """for i { S } -> bind(cluster.x) for i { S }
        Blocks that run together and see each other's shared memory. The extent is a constant, at most
        16 with the other cluster loops around, and every rank has work: no condition inside depends on
        the loop.
        """
        self._run("cluster", loop_text(self, loop), word_text(self, axis))

    def fuse_reductions(self, loop: Loop, blocks: Sequence[BlockRef]) -> None:
        """for k { m[i] max= x[i, k] }   for k { s[i] sum= exp(x[i, k] - m[i]) }
          ->  for k { was[i] = m[i]  m[i] max= x[i, k]
                      s[i] = rescale(s[i] | was[i], m[i])  s[i] sum= exp(x[i, k] - m[i]) }
        The reductions that follow `loop`, the first one's, use its running result, and their partial
        results move along with it by the rescale law of their reducers. Equal over the reals. Legal on
        neighbouring loops of equal range over one block each, when each later term depends on the
        first result by the law alone: g * e(x, m), where the law is p * e(from, to) and x the first
        term.
        """
        self._run("fuse_reductions", loop_text(self, loop), [block_text(self, x) for x in blocks])

    def blockize(self, loop: Loop) -> Block:
        """for i in 0..4 { for j in 0..8 { block C(v = io*4 + i, w = jo*8 + j) … } }      at i
          ->  block C_outer(v = io, w = jo) { for i { for j { block C(v*4 + i, w*8 + j) … } } }
        Makes the nest from a loop down one block, whose instances are whole tiles of the inner one.
        """
        return Block(self, self._run("blockize", loop_text(self, loop))[0])

    def tensorize(self, nest: AnyRef, instruction: str) -> Block:
        """block C_outer(…) { for i { for j { C[…] += A[…] * B[…] } } }
          ->  block C_outer(…) { call outer_product.update(C[…], A[…], B[…]) }
        Puts a call of the instruction in the place of a nest that computes just what it means: the same
        expression, loops and regions. A loop is blockized first; an init becomes a call of `reset`.
        """
        return Block(self, self._run("tensorize", any_text(self, nest), string_text(self, instruction))[0])
