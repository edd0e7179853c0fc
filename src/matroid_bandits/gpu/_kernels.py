"""The kernels by name, copies of one frame: importing this file imports numba-cuda."""

from matroid_bandits.gpu._device import by_block, kernel
from matroid_bandits.gpu._episode import play
from matroid_bandits.gpu._forest import choose_forest, room_of_forests
from matroid_bandits.gpu._general import GENERAL_CHOICE, GENERAL_FRAME
from matroid_bandits.gpu._orders import ORDERS
from matroid_bandits.gpu._quotas import choose_quotas, room_of_quotas

_FAMILIES = {
    "quotas": {"own_room": room_of_quotas, "choose": choose_quotas},
    "forest": {"own_room": room_of_forests, "choose": choose_forest},
    **ORDERS,
}

#: By the name of a family, and whether the policy or a world is other than a simple one. Compiled when first called.
KERNELS = {(name, False): kernel(play, f"play_{name}", **parts) for name, parts in _FAMILIES.items()} | {
    (name, True): kernel(
        play,
        f"play_general_{name}",
        **GENERAL_FRAME,
        **parts | {"choose": by_block(parts["choose"], **GENERAL_CHOICE)},
    )
    for name, parts in _FAMILIES.items()
}
