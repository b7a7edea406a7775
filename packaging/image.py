"""An image for container engines, for both architectures, in the layout of the OCI; none
is needed to make it. It has no shell: `tyrion agent-path --into` copies the agent."""

import json
import time

from files import (ARCHES, EPOCH, LICENCES, SUMMARY, File, documents, folders_of, programs, sha256, tar, version,
                   write, zipped)

MEDIA = "application/vnd.oci.image"
PLATFORMS = {"x86_64": "amd64", "aarch64": "arm64"}


def tree(arch):
    files = programs(arch)
    of = documents(arch)
    for name in [*LICENCES, "THIRD-PARTY-LICENSES", "sbom.cdx.json"]:
        files[f"share/doc/tyrion/{name}"] = of[name]
    # Engines look up there who is root.
    files["etc/passwd"] = File(b"root:x:0:0:root:/root:/bin/tyrion\n")
    return files


def labels():
    return {
        "org.opencontainers.image.title": "tyrion",
        "org.opencontainers.image.description": SUMMARY,
        "org.opencontainers.image.version": version(),
        "org.opencontainers.image.licenses": "Apache-2.0 OR MIT",
    }


def make():
    blobs = {}
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))

    def blob(content, kind):
        digest = sha256(content)
        blobs[f"blobs/sha256/{digest}"] = File(content)
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content)}

    def packed(value):
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()

    manifests = []
    for arch in ARCHES:
        files = tree(arch)
        # What is read may be larger than memory.
        layer = tar(files, folders=dict.fromkeys(folders_of(files), 0o755) | {"tmp": 0o1777})
        platform = {"architecture": PLATFORMS[arch], "os": "linux"}
        config = platform | {
            "created": created,
            "config": {"Entrypoint": ["/bin/tyrion"], "Env": ["PATH=/bin"], "WorkingDir": "/", "Labels": labels()},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(layer)}"]},
            "history": [{"created": created, "created_by": "make dist"}],
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": f"{MEDIA}.manifest.v1+json",
            "config": blob(packed(config), f"{MEDIA}.config.v1+json"),
            "layers": [blob(zipped(layer), f"{MEDIA}.layer.v1.tar+gzip")],
            "annotations": labels(),
        }
        manifests.append(blob(packed(manifest), f"{MEDIA}.manifest.v1+json") | {"platform": platform})
    index = {"schemaVersion": 2, "mediaType": f"{MEDIA}.index.v1+json", "manifests": manifests, "annotations": labels()}
    name = {"org.opencontainers.image.ref.name": f"tyrion:{version()}"}
    top = {
        "schemaVersion": 2,
        "mediaType": f"{MEDIA}.index.v1+json",
        "manifests": [blob(packed(index), f"{MEDIA}.index.v1+json") | {"annotations": name}],
    }
    files = blobs | {
        "oci-layout": File(packed({"imageLayoutVersion": "1.0.0"})),
        "index.json": File(packed(top)),
    }
    write(f"tyrion-{version()}-oci.tar", tar(files))
