"""An error says which operator a strategy is of: these names stand beside the strategies themselves."""

from skewkit.api.arguments import _STRATEGIES_OF
from skewkit.api.group.skew_groupby import SCHEMES
from skewkit.api.join.strategies import STRATEGIES


def test_the_names_are_those_of_the_operators():
    assert set(_STRATEGIES_OF["skew_join"]) == set(STRATEGIES) - {"native"}
    assert set(_STRATEGIES_OF["skew_groupby"]) == set(SCHEMES)
