"""The zip for Windows: a program that reads what was recorded on Linux."""

from files import STAGE, WINDOWS, File, documents, version, write, zip_of


def make():
    name = f"tyrion-{version()}-{WINDOWS}"
    files = {"tyrion.exe": File(STAGE / WINDOWS / "tyrion.exe", True)} | documents(WINDOWS)
    write(f"{name}.zip", zip_of({f"{name}/{file}": files[file] for file in sorted(files)}))
