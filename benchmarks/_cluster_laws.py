# SPDX-License-Identifier: BSD-3-Clause
"""Laws that the simulation of a cluster keeps, whatever it simulates."""

from dataclasses import replace

import numpy as np
from _cluster_simulation import Cluster, Outcome, PassKind, simulate_exchange, simulate_pass


def check_laws() -> None:
    """Raise AssertionError when a law is broken."""
    rng = np.random.default_rng(0)
    seconds = rng.uniform(0.5, 1.5, 200)
    kind = PassKind(seconds, message=1e6, add_seconds=0.01, driver_seconds=3.0)
    alone = simulate_pass(Cluster(1), [kind])
    # One worker that nothing keeps waiting does one thing after another.
    _same(alone.seconds, seconds.sum() + 199 * 0.01 + 3.0)
    assert alone.n_bytes == 1e6
    _more_workers(PassKind(np.ones(240), message=0.0))
    _conserved(kind)
    _latencies()
    _losses(kind)
    _bounds(kind)
    _exchange()


def _same(found: float, wanted: float) -> None:
    assert abs(found - wanted) <= 1e-9 * max(abs(wanted), 1.0), (found, wanted)


def _more_workers(kind: PassKind) -> None:
    """Without overhead, more workers are never slower."""
    times = [simulate_pass(Cluster(n), [kind]).seconds for n in (1, 2, 3, 4, 6, 10, 60, 240, 480)]
    assert times == sorted(times, reverse=True), times
    _same(times[0], 240.0)
    _same(times[-1], 1.0)


def _conserved(kind: PassKind) -> None:
    """Work does not depend on who does it, and the elapsed time is accounted for."""
    cluster = Cluster(1, 2, latency=0.01, bandwidth=1e8, task_overhead=0.002)
    runs = [simulate_pass(replace(cluster, n_workers=n), [kind, kind]) for n in (1, 5, 40)]
    for run in runs:
        _accounted(run)
        for name in ("cores", "scheduler", "driver"):
            _same(run.busy[name], runs[0].busy[name])
    assert len({run.n_tasks for run in runs}) == 1
    # Sums that are made elsewhere have to be sent, once each.
    assert runs[0].n_bytes < runs[1].n_bytes < runs[2].n_bytes <= 1e6 * runs[2].n_tasks


def _accounted(run: Outcome) -> None:
    _same(sum(run.waited.values()), run.seconds)


def _latencies() -> None:
    """Tasks that take no time: two messages for each task on the way, two for each fetch."""
    cluster = Cluster(64, latency=1.0, fan_in=8)
    run = simulate_pass(cluster, [PassKind(np.zeros(64), message=0.0)])
    # Sent, handed out; two levels of report, handing out and fetch; told, asked for, answered.
    _same(run.seconds, 2.0 + 2 * 4.0 + 6.0)
    _same(run.waited["latency"], run.seconds)


def _losses(kind: PassKind) -> None:
    """See that a lost machine never helps, and costs no more than to do its work again."""
    cluster = Cluster(8, detection=5.0, disk=1e9)
    kind = replace(kind, partition_bytes=1e9)
    whole = simulate_pass(cluster, [kind]).seconds
    lost = simulate_pass(cluster, [kind], lost_at=2.0).seconds
    own = kind.seconds[cluster.places(len(kind.seconds)) == 0]
    assert whole <= lost <= whole + 2.0 + 5.0 + float((own + 1.0).sum())


def _bounds(kind: PassKind) -> None:
    """No faster than all cores at once, nor than the longest task; what is slow is slower."""
    plain = Cluster(7, 3, latency=1e-3, scatter=0.3)
    run = simulate_pass(plain, [kind])
    own = plain.task_seconds(kind.seconds, 0)
    assert run.seconds >= max(own.sum() / 21, own.max()) + 3.0
    for worse in (
        {"latency": 0.1},
        {"task_overhead": 0.05},
        {"bandwidth": 1e6},
        {"slow_share": 0.3, "slow_factor": 3.0},
    ):
        assert simulate_pass(replace(plain, **worse), [kind]).seconds > run.seconds, worse


def _exchange() -> None:
    """See that what is read, moved and written takes its time, and that no byte is lost."""
    cluster = Cluster(10, 4, bandwidth=1e9, disk=5e8)
    run = simulate_exchange(
        cluster, np.zeros(100), read_bytes=5e7, moved_bytes=1e11, spilled_bytes=1e10
    )
    _accounted(run)
    _same(run.n_bytes, 0.9e11)
    # Ten partitions each, nine tenths of a tenth moved in, a tenth written and read.
    assert run.seconds >= 0.9 + 9.0 + 4.0
    _same(run.busy["disk"], 100 * 0.1 + 2 * 1e10 / 5e8)
