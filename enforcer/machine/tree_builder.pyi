def fill(
    data: bytes,
    starts: memoryview,
    bits: memoryview,
    left: memoryview,
    below: memoryview,
    child: memoryview,
    rank: memoryview,
    rank_end: memoryview,
    children: memoryview,
    own: memoryview,
    height: memoryview,
    byte: memoryview,
) -> int: ...
