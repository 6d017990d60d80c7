"""Only for the wheel's name: with the shared library inside it belongs to one platform, but to every Python."""

from pathlib import Path

from setuptools import setup
from wheel.bdist_wheel import bdist_wheel

BUNDLED = any((Path(__file__).parent / "parsnets").glob("libparsnets.so*"))


class PlatformWheel(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = not BUNDLED

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2]) if BUNDLED else super().get_tag()


setup(cmdclass={"bdist_wheel": PlatformWheel})
