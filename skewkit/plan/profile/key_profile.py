"""What is known of a frame's keys: the heavy ones with bounds, the tail in hash buckets, nulls and totals."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any, TextIO

from skewkit.errors import ArgumentError, ArgumentTypeError, ProfileError, shown
from skewkit.hashing.spark import xxhash64
from skewkit.plan.profile.heavy_key import HeavyKey, key_text
from skewkit.plan.profile.placeholders import is_placeholder
from skewkit.plan.profile.profile_check import check_numbers
from skewkit.plan.profile.profile_merge import merge_heavy
from skewkit.plan.profile.profile_plot import plot_shares
from skewkit.plan.profile.values import from_jsonable, hashable, is_value_of, to_jsonable

FORMAT = 1
_SHOWN = 8


_HOLDING = ("struct", "array")
"""Types whose values hold others."""


@dataclass(frozen=True, repr=False)
class KeyProfile:
    """The skew of one list of key columns, as `skew_profile` measured it.

    * `rows`: rows of the frame, or their total weight where a weight was given.
    * `nulls`: rows with a null in any key column. They are not among the heavy keys.
    * `heavy`: `HeavyKey`s, falling by estimate. Every key with a share of at least `theta` is listed
      (from a sample: up to the sampling error that the bounds state).
    * `tail`: the weight of all other keys per hash bucket, bucket = `xxhash64(keys) mod len(tail)`.
    * `unlisted`: no key that is missing from the lists weighs more than this.
    * `null_heavy`: the heaviest keys that contain a null, for group-by, where null is a key like any other.
    * `named`: the user named the heavy keys. Their weights are not known and taken as equal.
    * `sampled`: the numbers are a sample scaled up by `1 / fraction`. `unit`: what a sampled row counts after merges
      and decays (None: there were none).
    * `files`: (taken, all) if only some files were sampled. A key that is in none of those taken is missing.
    * `given`: an operator was given this profile, and has measured nothing itself. It is not saved.

    A profile is a hint: a plan made from a wrong one costs time, never rows.
    """

    keys: tuple[str, ...]
    types: tuple[str, ...]
    rows: float
    nulls: float
    heavy: tuple[HeavyKey, ...]
    null_heavy: tuple[HeavyKey, ...]
    tail: tuple[float, ...]
    tail_keys: tuple[int, ...]
    theta: float
    unlisted: float = 0.0
    sampled: bool = False
    fraction: float = 1.0
    weight: str | None = None
    named: bool = False
    unit: float | None = None
    files: tuple[int, int] | None = None
    given: bool = field(default=False, compare=False)

    @property
    def row_weight(self) -> float:
        """What a row of the sample counts for. 0 where all rows were read."""
        if self.unit is not None:
            return self.unit
        return 1 / self.fraction if self.sampled and self.fraction else 0.0

    @cached_property
    def _index(self) -> dict[Any, HeavyKey]:
        named = (h for h in self.heavy if None not in h.key)
        return {hashable(h.key): h for h in (*named, *self.null_heavy)}

    @cached_property
    def _unnamed(self) -> dict[int, HeavyKey]:
        return {h.hash: h for h in self.heavy if None in h.key}

    def share(self, *key: Any) -> float:
        """Return the key's share of all rows (or weight), in 0..1.

        A key that is not heavy gets the mean share of the keys in its bucket, which is below `theta`.

        Args:
            *key: one value per key column, or one `HeavyKey`, or one tuple, as `HeavyKey.key` is.

        Raises:
            ArgumentError: as many values as key columns are expected, of their types.

        >>> from skewkit.plan.profile.unread_profiles import empty_profile
        >>> empty_profile(("k",), ("int",)).share(3)
        0.0
        """
        if len(key) == 1 and isinstance(key[0], HeavyKey):
            same = [h.estimate for h in self.heavy if h.hash == key[0].hash]
            if same and None in key[0].key:  # of whose values nobody knows
                return same[0] / self.rows
            key = key[0].key
        elif len(key) == 1 and isinstance(key[0], tuple) and not self.types[0].startswith(_HOLDING):
            key = key[0]
        if len(key) != len(self.keys):
            raise ArgumentError(
                f"share() got {len(key)} value(s) for the key columns {list(self.keys)}; give one value per column"
            )
        if not self.rows:
            return 0.0
        if len(key) == 1 and key[0] is None:
            return self.nulls / self.rows
        try:
            found = self._index.get(hashable(key))
            if found is not None:
                return found.estimate / self.rows
            key_hash = self._hash(key)
        except (AttributeError, TypeError, ValueError, ArithmeticError) as error:
            raise ArgumentError(f"key {shown(key)} does not fit the key types {list(self.types)}") from error
        if key_hash in self._unnamed:
            return self._unnamed[key_hash].estimate / self.rows
        bucket = key_hash % len(self.tail)
        return self.tail[bucket] / max(1, self.tail_keys[bucket]) / self.rows

    def _hash(self, key: tuple[Any, ...]) -> int:
        for part, type_ in zip(key, self.types, strict=True):
            holding = isinstance(part, list | tuple | dict) and not type_.startswith(_HOLDING)
            if holding or not is_value_of(part, type_):
                raise TypeError(f"{shown(part)} is no {type_}")
        return xxhash64(key, self.types)

    def merge(self, other: KeyProfile) -> KeyProfile:
        """Return the profile of both frames' union; the bounds keep holding.

        A key that only one side lists weighs at most `unlisted` on the other, so its upper bound grows by that.

        Raises:
            ProfileError: the profiles are of other key columns or types, or weigh by different columns.
        """
        if not isinstance(other, KeyProfile):
            raise ArgumentTypeError(f"merge() takes a KeyProfile, not {type(other).__name__}")
        for name in ("keys", "types", "weight"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise ProfileError(
                    f"cannot merge profiles with different {name}: {mine} and {theirs}; profile both frames alike"
                )
        buckets = min(len(self.tail), len(other.tail))
        a, b = self.folded(buckets), other.folded(buckets)
        theta, rows, nulls = max(a.theta, b.theta), a.rows + b.rows, a.nulls + b.nulls
        tail = [x + y for x, y in zip(a.tail, b.tail, strict=True)]
        tail_keys = [max(x, y) for x, y in zip(a.tail_keys, b.tail_keys, strict=True)]
        unlisted, heavy = a.unlisted + b.unlisted, []
        for h in merge_heavy(a.heavy, b.heavy, a.unlisted, b.unlisted):
            if h.estimate >= theta * rows:
                heavy.append(h)
                continue
            # No longer heavy in the union: back to its bucket.
            tail[h.hash % buckets] += h.estimate
            tail_keys[h.hash % buckets] += 1
            unlisted = max(unlisted, h.high)
        return replace(
            a,
            rows=rows,
            nulls=nulls,
            heavy=tuple(heavy),
            null_heavy=merge_heavy(a.null_heavy, b.null_heavy, a.unlisted, b.unlisted),
            tail=tuple(tail),
            tail_keys=tuple(tail_keys),
            theta=theta,
            unlisted=unlisted,
            sampled=a.sampled or b.sampled,
            fraction=min((each.fraction for each in (a, b) if each.fraction), default=0.0),
            unit=max(a.row_weight, b.row_weight),
            named=a.named or b.named,
            given=a.given or b.given,
            files=a.files or b.files,
        )

    def decay(self, alpha: float) -> KeyProfile:
        """Return the profile with every weight times `alpha` in 0..1: the past counts less (FISH, epoch decay)."""
        if isinstance(alpha, bool) or not isinstance(alpha, int | float):
            raise ArgumentTypeError(f"decay() got alpha={alpha!r}; it is a factor between 0 and 1")
        if not 0 <= alpha <= 1:
            raise ArgumentError(f"decay() got alpha={alpha!r}; it is a factor between 0 and 1")
        heavy, null_heavy = (
            tuple(replace(h, low=h.low * alpha, estimate=h.estimate * alpha, high=h.high * alpha) for h in keys)
            for keys in (self.heavy, self.null_heavy)
        )
        return replace(
            self,
            rows=self.rows * alpha,
            nulls=self.nulls * alpha,
            heavy=heavy,
            null_heavy=null_heavy,
            tail=tuple(w * alpha for w in self.tail),
            unlisted=self.unlisted * alpha,
            unit=self.row_weight * alpha,
        )

    def folded(self, buckets: int) -> KeyProfile:
        """Return the profile with its tail in fewer buckets. `buckets` divides the present number."""
        if len(self.tail) % buckets:
            raise ProfileError(f"cannot fold {len(self.tail)} tail buckets into {buckets}; profile both frames alike")
        fold = range(buckets)
        return replace(
            self,
            tail=tuple(sum(self.tail[i::buckets]) for i in fold),
            tail_keys=tuple(sum(self.tail_keys[i::buckets]) for i in fold),
        )

    def only_heavy(self) -> KeyProfile:
        """Return the profile without listed keys whose share is below `theta`. They count in their buckets."""
        light = [h for h in self.heavy if h.estimate < self.theta * self.rows]
        tail = list(self.tail)
        for h in light:
            tail[h.hash % len(tail)] += h.estimate
        return replace(self, heavy=tuple(h for h in self.heavy if h not in light), tail=tuple(tail))

    def to_json(self) -> str:
        """Return the profile as JSON; `KeyProfile.from_json` gives an equal profile back."""
        data = asdict(self)
        del data["given"]
        for name in ("heavy", "null_heavy"):
            for item in data[name]:
                item["key"] = to_jsonable(item["key"])
        return json.dumps({"skewkit_profile": FORMAT, **data})

    @classmethod
    def from_json(cls, text: str) -> KeyProfile:
        """Read what `to_json` wrote.

        Raises:
            ProfileError: the text is no profile, or of a newer format.
        """
        try:
            data = json.loads(text)
            version = data.pop("skewkit_profile")
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            raise ProfileError("this text is no skewkit profile; write one with KeyProfile.to_json()") from error
        if version != FORMAT:
            raise ProfileError(
                f"profile format {version!r} is not known here (known: {FORMAT}); profile the frame anew"
            )
        try:
            types = tuple(data["types"])
            for name in ("heavy", "null_heavy"):
                data[name] = tuple(
                    HeavyKey(**{**h, "key": tuple(map(from_jsonable, h["key"], types))}) for h in data[name]
                )
            for name in ("keys", "types", "tail", "tail_keys"):
                data[name] = tuple(data[name])
            data["files"] = tuple(data["files"]) if data.get("files") else None
            profile = cls(**data)
            check_numbers(vars(profile))
            return profile
        except (KeyError, TypeError, ValueError) as error:
            raise ProfileError(f"this profile's JSON is damaged ({error}); profile the frame anew") from error

    def __repr__(self) -> str:
        """Return one line: what a notebook shows of a profile inside a list."""
        hottest = max((*self.heavy, *self.null_heavy), key=lambda h: h.estimate, default=None)
        most = f", most {key_text(hottest.key)}: {hottest.estimate / self.rows:.1%}" if hottest and self.rows else ""
        read = ", sampled" if self.sampled else ""
        return f"KeyProfile(keys={list(self.keys)}, rows={self.rows:,.0f}, heavy={len(self.heavy)}{most}{read})"

    def _repr_html_(self) -> str:
        """Return the table of `show` for a notebook's cell."""
        return f"<pre>{escape(str(self))}</pre>"

    def __str__(self) -> str:
        return profile_text(self)

    def show(self, file: TextIO | None = None) -> None:
        """Write the profile as a short table, to standard output unless a file is given."""
        (file or sys.stdout).write(str(self) + "\n")

    def plot(self, ax: Any = None) -> Any:
        """Draw the heavy keys' shares as bars beside the share that one partition can take. Needs matplotlib."""
        bars = [(key_text(h.key), h.estimate) for h in self.heavy]
        if self.nulls:
            bars = sorted([*bars, ("null", self.nulls)], key=lambda bar: -bar[1])
        shares = [(name, weight / self.rows) for name, weight in bars]
        title = f"{', '.join(self.keys)}: {len(self.heavy)} heavy keys in {self.rows:,.0f} rows"
        return plot_shares(shares, self.theta, title, "all rows" if self.weight is None else self.weight, ax)


def profile_text(profile: KeyProfile) -> str:
    """Return a profile as a short table, heaviest key first."""
    keys = ", ".join(profile.keys)
    unit = "rows" if profile.weight is None else f"of {profile.weight}"
    how = f"from a sample of {profile.fraction:.2%}, scaled up" if profile.sampled else "counted"
    if profile.files is not None:
        how += "; it is of {:,} of {:,} files, and a key in none of them is not seen".format(*profile.files)
    if not profile.fraction:
        how = "as its sources have, at the most; not read, it has every key once"
    lines = [f"{keys}: {profile.rows:,.0f} {unit} ({how})"]
    if profile.nulls:
        lines.append(f"  null  {_share(profile.nulls, profile.rows)}  {profile.nulls:,.0f}")
    for h in profile.heavy[:_SHOWN]:
        bounds = "" if h.low == h.high else f"  ({h.low:,.0f} to {h.high:,.0f})"
        empty = "  (a placeholder?)" if any(map(is_placeholder, h.key)) else ""
        name = f"the key of hash {h.hash}" if None in h.key else key_text(h.key)
        lines.append(f"  {name}  {_share(h.estimate, profile.rows)}  {h.estimate:,.0f}{bounds}{empty}")
    if len(profile.heavy) > _SHOWN:
        lines.append(f"  ... and {len(profile.heavy) - _SHOWN} more heavy keys")
    if not profile.heavy:
        lines.append("  no heavy key")
    tail = sum(profile.tail)
    lines.append(f"  all other keys  {_share(tail, profile.rows)}  {tail:,.0f}")
    return "\n".join(lines)


def _share(part: float, whole: float) -> str:
    return f"{part / whole:7.2%}" if whole else "   0 %"
