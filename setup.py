"""What pyproject.toml cannot say: requirements.txt names what the app needs, two folders go into the package."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
SHIPPED = ("data/sample", "models")  # see pdfqa_core/shipped.py


class WithFiles(build_py):
    """Copies the sample and the catalogues of models into the package."""

    def run(self) -> None:
        """Build, then copy."""
        super().run()
        if self.editable_mode:
            return
        for name in SHIPPED:
            for file in sorted((HERE / name).iterdir()):
                if file.suffix in (".pdf", ".jsonl", ".toml"):
                    target = Path(self.build_lib, "pdfqa_core", "packaged", name, file.name)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(file, target)


given = (HERE / "requirements.txt").read_text("utf-8").splitlines()
needed = [line.partition(" --config-settings")[0] for line in given if line and line[0] != "#"]
setup(install_requires=needed, cmdclass={"build_py": WithFiles})
