"""The computed permutation in plain integers, one position at a time, and its inverse: the reference of the fast one.

That the fast one is a bijection for every size follows from three facts, each of which a test checks:

- A round replaces one half by its exclusive or with a function of the other half. Doing it twice changes nothing,
  whatever the function is. So the network has an inverse, the rounds in reverse, and permutes a whole power of two.
- Walking on from a place inside of [0, size) until the path is inside again is the first return of a permutation to a
  part of its domain. Walking backwards from there returns to the same place.
- The fast one computes the same as this one.
"""

from __future__ import annotations

from headrace._base.hashing import MASK_64, MIX_1, MIX_2, fold
from headrace.order.permutation import NUM_ROUNDS


class SlowFeistel:
    def __init__(self, size: int, key: int) -> None:
        self.size = size
        num_bits = max(2, (size - 1).bit_length())
        self.low_bits = num_bits // 2
        self.high_bits = num_bits - self.low_bits
        self.round_keys = [int(fold(key, number)) for number in range(NUM_ROUNDS)]

    def element(self, position: int) -> int:
        value = self.network(position)
        while value >= self.size:
            value = self.network(value)
        return value

    def position(self, element: int) -> int:
        value = self.inverse(element)
        while value >= self.size:
            value = self.inverse(value)
        return value

    def network(self, value: int) -> int:
        for number in range(NUM_ROUNDS):
            value = self.one_round(value, number)
        return value

    def inverse(self, value: int) -> int:
        for number in reversed(range(NUM_ROUNDS)):
            value = self.one_round(value, number)
        return value

    def one_round(self, value: int, number: int) -> int:
        """Its own inverse: even rounds change the high half and read the low one, odd rounds the other way round."""
        high, low = value >> self.low_bits, value & ((1 << self.low_bits) - 1)
        if number % 2 == 0:
            high ^= hash_bits(low, self.round_keys[number], self.high_bits)
        else:
            low ^= hash_bits(high, self.round_keys[number], self.low_bits)
        return high << self.low_bits | low


def hash_bits(half: int, round_key: int, num_bits: int) -> int:
    mixed = (half ^ round_key) * int(MIX_1) & MASK_64
    mixed = (mixed ^ mixed >> 32) * int(MIX_2) & MASK_64
    return mixed >> (64 - num_bits)
