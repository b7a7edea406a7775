"""Unpacks an image of the OCI as an engine does, and checks all that its parts say of
each other.

packaging/unpack_image.py FILE.tar FOLDER      one folder in it for each processor
"""

import gzip
import hashlib
import io
import json
import pathlib
import sys
import tarfile


KINDS = ["index.v1+json", "manifest.v1+json", "manifest.v1+json", "config.v1+json", "layer.v1.tar+gzip"]


def main():
    archive = tarfile.open(sys.argv[1])
    to = pathlib.Path(sys.argv[2])

    def file(name):
        return archive.extractfile(name).read()

    def blob(descriptor):
        kind, digest = descriptor["digest"].split(":")
        content = file(f"blobs/{kind}/{digest}")
        if hashlib.sha256(content).hexdigest() != digest or len(content) != descriptor["size"]:
            raise SystemExit(f"{digest} is not what it is called")
        return content

    if json.loads(file("oci-layout"))["imageLayoutVersion"] != "1.0.0":
        raise SystemExit("another layout")
    (entry,) = json.loads(file("index.json"))["manifests"]
    for described in json.loads(blob(entry))["manifests"]:
        manifest = json.loads(blob(described))
        config = json.loads(blob(manifest["config"]))
        kinds = [entry, described, manifest, manifest["config"], *manifest["layers"]]
        if [kind["mediaType"].removeprefix("application/vnd.oci.image.") for kind in kinds] != KINDS:
            raise SystemExit("parts are not of the kinds that engines know")
        if (config["os"], described["platform"]["os"], manifest["schemaVersion"]) != ("linux", "linux", 2):
            raise SystemExit("not for Linux, or of another version")
        if config["architecture"] != described["platform"]["architecture"]:
            raise SystemExit("the index names another processor")
        for layer, id in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
            content = gzip.decompress(blob(layer))
            if f"sha256:{hashlib.sha256(content).hexdigest()}" != id:
                raise SystemExit("a layer is not what it is called")
            tarfile.open(fileobj=io.BytesIO(content)).extractall(to / config["architecture"])
        program = config["config"]["Entrypoint"][0]
        if not (to / config["architecture"] / program.lstrip("/")).stat().st_mode & 0o100:
            raise SystemExit(f"{program} cannot be run")


main()
