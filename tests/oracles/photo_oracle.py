"""Photographs of every kind, and the network input that numpy and Pillow make of them.

    photo_oracle.py probe          whether Pillow is here
    photo_oracle.py write FOLDER   FOLDER/<name>.<ending>, FOLDER/<fit>.npy: a row per photograph, sorted by name

Inputs are 28 x 20 pixels with blue, green, red less the means of Caffe.
"""

import io
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

WIDTH, HEIGHT = 28, 20
MEANS = np.array([103.939, 116.779, 123.68])


def scene(width, height):
    """Smooth colours without symmetry: 3 channels of bytes."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [255 * x / width, 255 * y / height, 127 + 120 * np.sin(x / 9 + y / 17)]
    return np.stack(planes, axis=2).astype(np.uint8)


def with_orientation(value):
    exif = Image.Exif()
    exif[0x0112] = value
    return {"exif": exif.tobytes()}


def with_xmp_first(jpeg, pixels):
    """As some editors write it: an APP1 segment of XMP before that of EXIF."""
    xmp = b"http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:x='adobe:ns:meta/'/>"
    return jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(xmp) + 2) + xmp + jpeg[2:], pixels


def png_of_16_bits(values):
    """A PNG of 16 bits per channel, which Pillow cannot write in colour."""
    height, width, _ = values.shape
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def photographs():
    """Names, bytes of the files, and their pixels as Pillow sees them (height x width x 3)."""
    image = Image.fromarray(scene(120, 75))

    def saved(kept, ending, **options):
        buffer = io.BytesIO()
        kept.save(buffer, {"jpg": "JPEG"}.get(ending, ending.upper()), **options)
        shown = ImageOps.exif_transpose(Image.open(io.BytesIO(buffer.getvalue())))
        return buffer.getvalue(), np.asarray(shown.convert("RGB"))

    for value in range(1, 9):
        yield f"turned{value}.jpg", *saved(image, "jpg", quality=95, **with_orientation(value))
        yield f"turned{value}.webp", *saved(image, "webp", lossless=True, **with_orientation(value))
        yield f"turned{value}-xmp.jpg", *with_xmp_first(*saved(image, "jpg", quality=95, **with_orientation(value)))
    yield "turned.png", *saved(image, "png", **with_orientation(6))
    yield "plain.png", *saved(image, "png")
    yield "plain.bmp", *saved(image, "bmp")
    yield "lossless.webp", *saved(image, "webp", lossless=True)
    yield "lossy.webp", *saved(image, "webp", quality=95)
    yield "grey.jpg", *saved(image.convert("L"), "jpg", quality=95)
    yield "grey.png", *saved(image.convert("L"), "png")
    yield "bits.png", *saved(image.convert("1"), "png")
    yield "palette.png", *saved(image.quantize(200), "png")
    yield "progressive.jpg", *saved(image, "jpg", quality=90, progressive=True)
    transparent = image.copy()
    transparent.putalpha(image.convert("L"))
    yield "alpha.png", *saved(transparent, "png")
    yield "grey-alpha.png", *saved(transparent.convert("LA"), "png")
    yield "tall.png", *saved(Image.fromarray(scene(31, 200)), "png")
    yield "small.png", *saved(Image.fromarray(scene(9, 7)), "png")
    wide = scene(64, 40).astype(np.uint16) * 256 + 77
    yield "deep.png", png_of_16_bits(wide), (wide >> 8).astype(np.uint8)


def scaled_in_double(pixels, width, height):
    """Bilinear with a triangle as wide as the pixels that become one: Pillow's filter, without its rounding."""
    def matrix(source, target):
        reach = max(source / target, 1)
        centres = (np.arange(target)[:, None] + 0.5) * source / target
        weights = np.maximum(0, 1 - np.abs((np.arange(source)[None] + 0.5 - centres) / reach))
        return weights / weights.sum(axis=1, keepdims=True)
    down, across = matrix(pixels.shape[0], height), matrix(pixels.shape[1], width)
    return np.einsum("hy,yxc,wx->hwc", down, pixels.astype(float), across, optimize=True)


def scaled(pixels, width, height):
    by_pillow = np.asarray(Image.fromarray(pixels).resize((width, height), Image.BILINEAR), float)
    exact = scaled_in_double(pixels, width, height)
    assert np.abs(by_pillow - exact).max() < 1.01, "the reference is Pillow's, which rounds to bytes"
    return exact


def network_input(pixels, fit):
    if fit == "whole":
        seen = scaled(pixels, WIDTH, HEIGHT)
    else:  # as torchvision's Resize and CenterCrop, with 256 of 224; the input is not square
        height, width = pixels.shape[:2]
        wide, high = round(WIDTH * 256 / 224), round(HEIGHT * 256 / 224)
        by_width = wide / width >= high / height
        size = (wide, int(height * wide / width)) if by_width else (int(width * high / height), high)
        large = scaled(pixels, *size)
        left, top = int(round((size[0] - WIDTH) / 2)), int(round((size[1] - HEIGHT) / 2))
        seen = large[top:top + HEIGHT, left:left + WIDTH]
    return (seen[:, :, ::-1] - MEANS).transpose(2, 0, 1).ravel()


def write(folder):
    folder = Path(folder)
    kinds = sorted(photographs())
    for name, content, _ in kinds:
        (folder / name).write_bytes(content)
    for fit in ("whole", "centre"):
        np.save(folder / f"{fit}.npy", np.stack([network_input(p, fit) for _, _, p in kinds]).astype(np.float32))
    # for looking at alone: no two programs agree on colours of inks
    Image.fromarray(scene(64, 40)).convert("CMYK").save(folder / "inks.jpeg", quality=95)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2])
