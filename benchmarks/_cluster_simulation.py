# SPDX-License-Identifier: BSD-3-Clause
"""A cluster that goes over partitions of rows, event by event.

Whatever takes time is an operation on a resource: the scheduler, the cores, disk and network card
of a machine, the driver. It is ready when all it waits for has ended and, where that is on another
machine, a message has come; a resource takes what is ready first. What every operation waited for
is kept, so that the way back from the last one to the beginning tells what the elapsed time went
to, second by second.

A pass: the coefficients are sent to all machines; the scheduler hands out a task for each
partition; machines compute and report; sums are added along a tree of tasks with a fixed fan-in,
each of which fetches its parts where they are; the driver fetches the total and computes a step.
Counted as Dask sends them, with which `cluster_plan.py check` compares: a task is handed out and
reported, a fetch is a question and an answer, and the parts come through the card of the one who
asks; the driver is told that there is a total, and asks for it by way of the scheduler.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush, heapreplace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# An operation, and how long after its end a message from it comes.
Waits = Sequence[tuple[int, float]]

_GROUPS = 32


@dataclass(frozen=True)
class Cluster:
    """Machines, and what lies between them.

    Parameters
    ----------
    n_workers : int
    cores : int
        Tasks that a machine computes at a time.
    latency : float
        Seconds of a message, one way.
    bandwidth, disk : float
        Bytes a second of a machine's network card in one direction, and of its disk.
    task_overhead : float
        Seconds of the scheduler for a task.
    scatter : float
        Standard deviation of the logarithm of a task's seconds.
    slow_share, slow_factor : float
        Part of the machines that are slow, and how many times as long they take.
    detection : float
        Seconds until a machine that is lost is missed.
    fan_in : int
        Parts that a task of the tree adds.
    """

    n_workers: int
    cores: int = 1
    latency: float = 0.0
    bandwidth: float = np.inf
    disk: float = np.inf
    task_overhead: float = 0.0
    scatter: float = 0.0
    slow_share: float = 0.0
    slow_factor: float = 1.0
    detection: float = 0.0
    fan_in: int = 8

    def task_seconds(self, seconds: Floats, seed: int) -> Floats:
        """Return what tasks take, machines and chance being what they are; the mean stays."""
        rng = np.random.default_rng(seed)
        workers = self.places(len(seconds))
        factors = np.ones(self.n_workers)
        n_slow = round(self.slow_share * self.n_workers)
        factors[rng.choice(self.n_workers, n_slow, replace=False)] = self.slow_factor
        chance = rng.normal(-0.5 * self.scatter**2, self.scatter, len(seconds))
        return np.asarray(seconds * factors[workers] * np.exp(chance))

    def places(self, n_parts: int) -> NDArray[np.int64]:
        """Return the machine of every partition: neighbours are together."""
        return np.arange(n_parts) * self.n_workers // n_parts


@dataclass(frozen=True)
class PassKind:
    """What a pass does on a partition, and what it sends.

    Parameters
    ----------
    seconds : ndarray of shape (n_parts,)
        Of one core, for every partition.
    message : float
        Bytes of the result of a partition.
    add_seconds : float
        Of one core, to add two results.
    grows : bool
        Whether results are put one after another, as rows are, and not added.
    driver_seconds : float
        What the driver computes after it.
    partition_bytes : float
        Bytes of a partition on disk.
    from_disk : bool
        Whether they are read in every pass, and not only when a machine was lost.
    coefficients : float
        Bytes that every machine is sent.
    """

    seconds: Floats
    message: float
    add_seconds: float = 0.0
    grows: bool = False
    driver_seconds: float = 0.0
    partition_bytes: float = 0.0
    from_disk: bool = False
    coefficients: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What happened.

    Attributes
    ----------
    seconds : float
    waited : dict of str to float
        What the elapsed time went to; adds up to it.
    busy : dict of str to float
        Seconds that all resources of a name worked, together.
    n_tasks, n_messages : int
    n_bytes : float
        Sent between machines.
    """

    seconds: float
    waited: dict[str, float]
    busy: dict[str, float]
    n_tasks: int
    n_messages: int
    n_bytes: float

    @property
    def bottleneck(self) -> str:
        """What most of the elapsed time went to."""
        return max(self.waited, key=lambda name: self.waited[name])


@dataclass(eq=False)
class Events:
    """Operations, which wait for others and for resources."""

    names: list[str] = field(default_factory=list)
    _seconds: list[float] = field(default_factory=list)
    _resource: list[tuple[str, int] | None] = field(default_factory=list)
    _pending: list[int] = field(default_factory=list)
    _next: list[list[tuple[int, float]]] = field(default_factory=list)
    _slots: dict[tuple[str, int], list[tuple[float, int]]] = field(default_factory=dict)
    n_messages: int = 0
    n_bytes: float = 0.0

    def add(
        self, name: str, seconds: float, waits: Waits, place: int | None = None, slots: int = 1
    ) -> int:
        """Add an operation on the resource of a name at a place, or on none; return its number."""
        number = len(self.names)
        resource = None if place is None else (name, place)
        if resource is not None and resource not in self._slots:
            self._slots[resource] = [(0.0, -1)] * slots
        self.names.append(name)
        self._seconds.append(float(seconds))
        self._resource.append(resource)
        self._pending.append(len(waits))
        self._next.append([])
        for before, delay in waits:
            self._next[before].append((number, delay))
        return number

    def run(self) -> tuple[float, dict[str, float], dict[str, float]]:
        """Return the end of the last operation, what led there, and what was busy how long."""
        n = len(self.names)
        start, end, ready = [0.0] * n, [0.0] * n, [0.0] * n
        cause, delayed, pending = [-1] * n, [0.0] * n, list(self._pending)
        heap = [(0.0, number) for number in range(n) if not pending[number]]
        while heap:
            when, number = heappop(heap)
            resource = self._resource[number]
            if resource is not None:
                slots = self._slots[resource]
                free, last = slots[0]
                if free > when:
                    when, cause[number], delayed[number] = free, last, 0.0
                heapreplace(slots, (when + self._seconds[number], number))
            start[number], end[number] = when, when + self._seconds[number]
            for later, delay in self._next[number]:
                at = end[number] + delay
                if at >= ready[later]:
                    ready[later], cause[later], delayed[later] = at, number, delay
                pending[later] -= 1
                if not pending[later]:
                    heappush(heap, (ready[later], later))
        assert not any(pending), "operations wait for each other"
        return max(end), self._way_back(start, end, cause, delayed), self._busy()

    def _way_back(
        self, start: list[float], end: list[float], cause: list[int], delayed: list[float]
    ) -> dict[str, float]:
        waited: Counter[str] = Counter()
        number = int(np.argmax(end))
        while number >= 0:
            waited[self.names[number]] += end[number] - start[number]
            waited["latency"] += delayed[number]
            number = cause[number]
        return dict(waited)

    def _busy(self) -> dict[str, float]:
        busy: Counter[str] = Counter()
        for name, seconds in zip(self.names, self._seconds, strict=True):
            busy[name] += seconds
        return dict(busy)


def simulate_pass(
    cluster: Cluster, kinds: Sequence[PassKind], *, seed: int = 0, lost_at: float | None = None
) -> Outcome:
    """Go over partitions once, those of source and target at the same time.

    Parameters
    ----------
    cluster : Cluster
    kinds : sequence of PassKind
        Each has its own partitions and its own tree.
    seed : int, default=0
        Of slow machines and tasks.
    lost_at : float, optional
        When the first machine is lost. All it has done in this pass is done again by the others,
        which first read its partitions; this is more than is lost.
    """
    events = Events()
    lost = None
    if lost_at is not None:
        lost = events.add("lost machine", lost_at + cluster.detection, ())
    sent = cluster.n_workers * max(kind.coefficients for kind in kinds)
    begin = events.add("network", sent / cluster.bandwidth, (), place=-1)
    events.n_bytes += sent
    events.n_messages += cluster.n_workers
    tops, n_tasks = [], 0
    for index, kind in enumerate(kinds):
        seconds = cluster.task_seconds(kind.seconds, seed + index)
        parts = [
            (_leaf(events, cluster, kind, begin, w, s, lost), w, kind.message)
            for w, s in zip(cluster.places(len(seconds)).tolist(), seconds, strict=True)
        ]
        n_tasks += len(parts)
        while len(parts) > 1:
            groups = [parts[i : i + cluster.fan_in] for i in range(0, len(parts), cluster.fan_in)]
            parts = [_added(events, cluster, kind, group, lost) for group in groups]
            n_tasks += len(parts)
        tops.append(parts[0])
    waits = []
    for number, _, size in tops:
        events.n_bytes += size
        events.n_messages += 2
        asked = [(number, 6 * cluster.latency)]
        waits.append((events.add("network", size / cluster.bandwidth, asked, place=-1), 0.0))
    events.add("driver", sum(kind.driver_seconds for kind in kinds), waits, place=0)
    elapsed, waited, busy = events.run()
    return Outcome(elapsed, waited, busy, n_tasks, events.n_messages, events.n_bytes)


def _leaf(
    events: Events, cluster: Cluster, kind: PassKind, begin: int, worker: int, seconds: float,
    lost: int | None,
) -> int:  # fmt: skip
    """Hand a task out and compute it."""
    waits = [(begin, cluster.latency)]
    read = kind.partition_bytes if kind.from_disk else 0.0
    if lost is not None and worker == 0:
        # Its partition is read and computed by one of the others.
        worker = 1 + len(events.names) % (cluster.n_workers - 1)
        waits.append((lost, 0.0))
        read = kind.partition_bytes
    events.n_messages += 2
    handed = events.add("scheduler", cluster.task_overhead, waits, place=0)
    arrived = [(handed, cluster.latency)]
    if read:
        arrived = [(events.add("disk", read / cluster.disk, arrived, place=worker), 0.0)]
    return events.add("cores", seconds, arrived, place=worker, slots=cluster.cores)


def _added(
    events: Events, cluster: Cluster, kind: PassKind, group: list[tuple[int, int, float]],
    lost: int | None,
) -> tuple[int, int, float]:  # fmt: skip
    """Add some parts where the first one is."""
    place = 1 if lost is not None and group[0][1] == 0 else group[0][1]
    events.n_messages += 2
    reports = [(number, cluster.latency) for number, _, _ in group]
    handed = events.add("scheduler", cluster.task_overhead, reports, place=0)
    waits = [(handed, cluster.latency)]
    for _, other, size in group:
        if other != place:
            asked = [(handed, 3 * cluster.latency)]
            events.n_bytes += size
            events.n_messages += 2
            waits.append(
                (events.add("network", size / cluster.bandwidth, asked, place=place), 0.0)
            )
    seconds = kind.add_seconds * (len(group) - 1)
    number = events.add("cores", seconds, waits, place=place, slots=cluster.cores)
    size = sum(part[2] for part in group) if kind.grows else kind.message
    return number, place, size


def simulate_exchange(
    cluster: Cluster, seconds: Floats, *, read_bytes: float, moved_bytes: float,
    spilled_bytes: float = 0.0, after_seconds: float = 0.0, seed: int = 0,
) -> Outcome:  # fmt: skip
    """Bring together what belongs together: every machine sends something to every other.

    Parameters
    ----------
    cluster : Cluster
    seconds : ndarray of shape (n_parts,)
        Of one core, to read and sort or add a partition.
    read_bytes : float
        Of a partition, from disk.
    moved_bytes : float
        That belong to machines in equal parts, of all partitions together; what belongs to the
        machine where it was read stays.
    spilled_bytes : float
        Of all machines together, written to disk for want of memory and read again.
    after_seconds : float
        Of all cores together, for what has come.
    """
    events = Events()
    n = cluster.n_workers
    begin = events.add("scheduler", 0.0, (), place=0)
    tasks: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    for worker, own in zip(
        cluster.places(len(seconds)).tolist(), cluster.task_seconds(seconds, seed), strict=True
    ):
        handed = events.add(
            "scheduler", cluster.task_overhead, [(begin, cluster.latency)], place=0
        )
        arrived = [(handed, cluster.latency)]
        read = events.add("disk", read_bytes / cluster.disk, arrived, place=worker)
        task = events.add("cores", own, [(read, 0.0)], place=worker, slots=cluster.cores)
        tasks[worker].append((task, 0.0))
    # So that there are not too many messages to follow, machines send in groups.
    done = [
        (
            events.add("wait", 0.0, [task for own in tasks[i::_GROUPS] for task in own]),
            len(tasks[i::_GROUPS]),
        )
        for i in range(min(_GROUPS, n))
    ]
    part = moved_bytes / n**2
    ends = []
    for worker in range(n):
        waits = [
            (
                events.add(
                    "network",
                    (n_senders - (worker % len(done) == index)) * part / cluster.bandwidth,
                    [(group, cluster.latency)],
                    place=worker,
                ),
                0.0,
            )
            for index, (group, n_senders) in enumerate(done)
        ]
        events.n_messages += n - 1
        events.n_bytes += part * (n - 1)
        spilled = 2.0 * spilled_bytes / (n * cluster.disk)
        written = events.add("disk", spilled, waits, place=worker)
        own = after_seconds / (n * cluster.cores)
        ends.append((events.add("cores", own, [(written, 0.0)], worker, cluster.cores), 0.0))
    events.add("driver", 0.0, ends, place=0)
    elapsed, waited, busy = events.run()
    return Outcome(elapsed, waited, busy, len(seconds) + n, events.n_messages, events.n_bytes)
