"""Numbers of 16 bits (bfloat16) where the processor computes with them; elsewhere they cost time and gain nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pdfqa_core.training.base import Precision

if TYPE_CHECKING:
    import torch

OF_CPUS = ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")  # names of torch.cpu.get_capabilities, x86 and ARM


def has_bf16(device: torch.device, capabilities: Mapping[str, Any] | None = None) -> bool:
    """Whether a device computes with bfloat16 by itself. `capabilities` are a processor's, by default this one's."""
    import torch

    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu":
        return False
    found = torch.cpu.get_capabilities() if capabilities is None else capabilities
    return any(found.get(name, False) for name in OF_CPUS)


def precision_on(
    device: torch.device, wanted: Precision, capabilities: Mapping[str, Any] | None = None
) -> tuple[Precision, str]:
    """Return what is computed with, fp32 or bf16, and a sentence that the user should know ("" for none).

    "auto" means bf16 where the device has it, else fp32. "bf16" is always taken; the sentence says if it will be slow.
    """
    if wanted == "fp32":
        return wanted, ""
    if has_bf16(device, capabilities):
        return "bf16", ""
    what = "processor" if device.type == "cpu" else f"device ({device.type})"
    if wanted == "auto":
        return "fp32", f"This {what} has no numbers of 16 bits (bfloat16): training computes with 32 bits (fp32)."
    return wanted, (
        f"This {what} has no numbers of 16 bits (bfloat16): bf16 is imitated, slower than fp32 and less exact. "
        "Choose fp32 or auto."
    )
