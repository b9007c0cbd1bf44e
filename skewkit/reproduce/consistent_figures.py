"""The figures of Nasir et al., "Load Balancing for Skewed Streams on Heterogeneous Clusters"."""

from skewkit.reproduce import consistent_balance, consistent_queues
from skewkit.reproduce.figure import Paper

PAPER = Paper(
    name="consistent",
    citation='Nasir et al., "Load Balancing for Skewed Streams on Heterogeneous Clusters" (Consistent Grouping), 2017',
    remarks="The text at hand has lost most numbers of the experiments, so these are ours: epsilon = 0.01, 10 virtual "
    "workers per worker, 10, 50 and 100 workers, one source unless said otherwise, utilisation of 90 % on average. "
    "Words of novels stand for the Wikipedia log. Normalised imbalance is (max - mean) / mean of the loads; memory is "
    "key-worker pairs per distinct key.",
    departures=(
        "The paper asks for eventual consistency of several sources and does not say how: here they "
        "follow the signals of the workers in one order, by time and worker; one that comes late is put "
        "in its place and what came after it is done again.",
        "The paper has fixed workers. Here one that joins takes its part of the virtual workers from "
        "those with the most, and those of one that leaves go to the idle ones "
        "in their order, then to those with the fewest.",
        "There are as many virtual workers as at the beginning: where each worker has its last one, no more can join.",
        "How often a worker may signal is not said: at most once in a time of 100 messages per worker (`slot`). Nor "
        "are the thresholds of its utilisation: 0.9 and 1.0 (`lower`, `upper`). Utilisation is the messages to do in "
        "the slot, those that waited when it began among them, over what the worker could have done; the paper's "
        "simulations take those assigned over the capacity.",
        "A worker keeps its last virtual worker, busy or not: without any it would hear nothing, and say nothing. So "
        "a busy worker with one leaves its queue.",
        "First come, first served is taken to mean that the virtual worker moves that its worker has had for longest. "
        "A worker that signals leaves the other queue, where it may still stand.",
        "Keys are hashed to virtual workers, which are not points of a circle; where PoRC hashes a key with the salts "
        "1, 2, ..., the salts step a seeded 64-bit mixer. The mean that a load may exceed by epsilon has the message "
        "in it that is being assigned, in PoRC and in CH.",
        "Partial results are put together by nobody here: `Trace.aggregated` counts what that would send, and no "
        "figure has it.",
        "Sources do not probe: Section VI also has them prefer workers that have not reported, or not for long; here "
        "work moves by the pairing of Section V alone.",
    ),
    figures=(
        *consistent_balance.FIGURES[:3],
        consistent_balance.FIG_8,
        *consistent_queues.FIGURES[:2],
        consistent_balance.FIG_11,
        *consistent_queues.FIGURES[2:],
    ),
)
