"""Rules about the machine and its services: rights, processes, disks, databases, clouds, and what goes public."""

from __future__ import annotations

import re

from tapgate.risk.paths import PathKind
from tapgate.risk.scene import RiskInput
from tapgate.shell.calls import Call, names, sort_options

_GLOBAL_OPTIONS = {
    "kubectl": ("nlfocv", "namespace context kubeconfig cluster user selector output server token container"),
    "helm": ("nf", "namespace kube-context values set version"),
    "aws": ("", "profile region output endpoint-url query"),
    "gcloud": ("", "project account configuration zone region format"),
    "az": ("ngs", "name resource-group subscription output"),
    "docker": ("Hfp", "context host log-level config file project-name"),
    "podman": ("f", "connection url file"),
    "docker-compose": ("fp", "file project-name"),
    "redis-cli": ("hpansu", "user pass"),
}


def plain_words(call: Call) -> list[str]:
    """A call's words without options and, for programs that have them before their verb, without their values."""
    return [arg.text for arg in sort_options(call.args, *_GLOBAL_OPTIONS.get(call.name, ("", ""))).operands]


_RAISERS = {
    "sudo": "with administrator rights",
    "doas": "with administrator rights",
    "su": "as another user",
    "pkexec": "with administrator rights",
    "run0": "with administrator rights",
    "gosu": "as another user",
    "su-exec": "as another user",
    "runuser": "as another user",
    "sudoedit": "with administrator rights",
    "nsenter": "outside its container",
    "chroot": "with another root directory",
}
_ASKING = names("-v -V -l -k -K --version --help -h")
_RIGHTS = names("visudo usermod useradd adduser userdel deluser groupadd gpasswd passwd chpasswd dscl setcap vipw")
_KERNEL = names(
    "mount umount swapoff swapon insmod modprobe rmmod sysctl iptables ip6tables nft ufw firewall-cmd pfctl setenforce"
    " spctl csrutil"
)
_KERNEL_READS = names("-L --list status list -S -s --state --status print show")


def privilege(call: Call, scene: RiskInput) -> str | None:
    words = call.texts
    operands = sort_options(call.args).operands
    if call.name in _RAISERS:
        if call.name != "su" and len(words) == 1 and words[0] in _ASKING:
            return None
        return f"Runs {_RAISERS[call.name]}"
    if call.name == "chmod" and operands:
        return _chmod(words)
    if call.name == "install":
        mode = sort_options(call.args, "mogtS", "mode owner group").value("-m", "--mode")
        return _chmod((mode.text,)) if mode else None
    if call.name == "chown" and operands and re.match(r"(?:root|0)(?::|$)|:(?:root|wheel|0)$", operands[0].text):
        return "Makes files belong to root"
    if call.name in _RIGHTS:
        return "Changes who may do what on this machine"
    if (
        call.name in _KERNEL
        and words
        and not set(words) & (_KERNEL_READS | ({"-a", "-n"} if call.name == "sysctl" else set()))
    ):
        return "Changes the kernel, the firewall or the protection of this machine"
    if call.name == "xattr" and any("quarantine" in text for text in words) and words[:1] != ("-l",):
        return "Takes away the mark by which macOS checks downloaded programs"
    if call.name in ("docker", "podman", "nerdctl") and "run" in words:
        mounts = " ".join(words)
        if re.search(rf"(?:-v|--volume)[ =]{re.escape(scene.ground.home)}/?:", mounts):
            return "Gives a container the whole home directory"
        if "--privileged" in words or re.search(
            r"(?:-v|--volume|--mount)[ =](?:\S*source=)?/(?::|,)|docker\.sock", mounts
        ):
            return "Starts a container that can change this whole machine"
    if call.name == "osascript" and any("administrator privileges" in text for text in words):
        return "Runs with administrator rights"
    return None


def _chmod(words: tuple[str, ...]) -> str | None:
    for text in words:
        if re.fullmatch(r"[0-7]{3,5}", text):
            mode = int(text, 8)
            if mode & 0o6000:
                return "Lets others run a file with its owner's rights (setuid or setgid)"
            return "Lets everybody on this machine change files" if mode & 0o002 else None
        if re.match(r"[ugoa]*[+=][rwxXst]*|[ugoa]+[-+=]", text) and not text.startswith("-"):
            if re.search(r"(?:^|,)[ugo]*[+=][rwx]*s", text):
                return "Lets others run a file with its owner's rights (setuid or setgid)"
            if re.search(r"(?:^|,)[ugoa]*[oa][ugoa]*[+=][rxXst]*w", text):
                return "Lets everybody on this machine change files"
    return None


def changes_rights(scene: RiskInput) -> str | None:
    """Files that say who may do what."""
    touch = scene.first_write(PathKind.SYSTEM, deletes=True)
    return f"Changes {scene.ground.shown(touch.path)}, which says who may do what on this machine" if touch else None


_KILLERS = names("kill pkill killall killall5 skill xkill fkill")
_POWER = names("shutdown reboot halt poweroff")
_QUIET_SYSTEMCTL = re.compile(r"status|show|list-\S+|is-\S+|cat|help|get-default|daemon-reload|--version|show-\S+")
_CONTAINER_VERBS = names("stop kill rm restart pause prune down")


def process_control(call: Call, scene: RiskInput) -> str | None:
    words = call.texts
    plain = plain_words(call)
    if call.name in _KILLERS:
        return _kill(call)
    if call.name in _POWER or (call.name in ("init", "telinit") and words[:1] in (("0",), ("6",))):
        return "Switches this machine off or starts it anew"
    if call.name == "fuser" and any(re.match(r"-\w*k", text) for text in words):
        return "Ends the processes that use a file or a port"
    if call.name == "systemctl" and plain and not _QUIET_SYSTEMCTL.fullmatch(plain[0]):
        return f"Changes a service: systemctl {' '.join(plain[:2])[:60]}"
    if call.name in ("service", "rc-service") and len(plain) > 1 and plain[1] != "status":
        return f"Changes a service: {' '.join(plain[:2])[:60]}"
    if call.name == "launchctl" and plain and plain[0] not in ("list", "print", "help", "version", "managername"):
        return f"Changes a service: launchctl {plain[0][:30]}"
    if call.name in ("supervisorctl", "pm2", "forever") and plain[:1] and plain[0] not in _QUIET_MANAGER:
        return f"Changes a service: {call.name} {plain[0][:30]}"
    if call.name == "brew" and plain[:1] == ["services"] and plain[1:2] not in ([], ["list"], ["info"]):
        return f"Changes a service: brew services {plain[1][:30]}"
    if call.name in ("docker", "podman", "nerdctl", "docker-compose"):
        if "compose" in (*plain[:1], call.name.removeprefix("docker-")):
            return None  # the project's own services, which `up` brings back; volumes are another rule's
        verb = next((text for text in plain[:4] if text in _CONTAINER_VERBS), None)
        inside = plain[:1] in (["run"], ["exec"], ["build"], ["volume"]) or "run" in plain[:2] or "exec" in plain[:2]
        return (
            f"Stops or removes containers, images or volumes: {call.name} {' '.join(plain[:2])[:40]}"
            if (verb and not inside)
            else None
        )
    if call.name == "kubectl" and plain[:1] and plain[0] in ("drain", "cordon", "scale", "rollout", "taint"):
        return None if plain[1:2] in (["status"], ["history"]) else f"Changes what runs in the cluster: {plain[0]}"
    if call.name == "tmux" and plain[:1] and plain[0].startswith("kill-"):
        return "Ends terminal sessions"
    return None


_QUIET_MANAGER = names("status list ls logs show monit describe info tail jlist prettylist save startup start")


def _kill(call: Call) -> str | None:
    words = call.texts
    if call.name == "kill":
        targets = [arg.text for arg in sort_options(call.args, "sn", "signal").operands]
        targets += [text for text in words[1:] if re.fullmatch(r"-\d+", text)]  # process groups
        own = all(text.startswith("%") for text in targets)
        if "-0" in words or words[:1] == ("-l",) or not targets or own:
            return None
    shown = [arg.shown for arg in sort_options(call.args, "sn", "signal").operands]
    return f"Ends processes: {' '.join([call.name, *shown])[:70]}"


_ERASERS = names("wipefs blkdiscard mkswap lvremove vgremove pvremove pvcreate sgdisk sfdisk cfdisk gdisk fdisk parted")


def disk_destruction(call: Call, scene: RiskInput) -> str | None:
    words = call.texts
    if call.name.startswith(("mkfs", "newfs")) or call.name == "mke2fs":
        return "Makes a new, empty file system"
    if call.name in _ERASERS and not (set(words) & {"-l", "--list", "print", "-p", "--print", "-h", "--help", "-v"}):
        return "Changes or erases a disk or its partitions"
    if call.name == "diskutil" and words[:1] and re.match(r"(?i)erase|partition|zero|random|secure|reformat", words[0]):
        return "Erases a disk"
    if call.name in ("zpool", "zfs") and words[:1] in (("destroy",), ("labelclear",)):
        return "Destroys a storage pool or a file system"
    if call.name == "cryptsetup" and set(words) & {"luksFormat", "luksErase", "erase", "reencrypt"}:
        return "Erases an encrypted disk"
    if call.name == "nvme" and words[:1] in (("format",), ("sanitize",)):
        return "Erases a disk"
    return None


def overwrites_disk(scene: RiskInput) -> str | None:
    touch = scene.first_write(PathKind.DEVICE, deletes=True)
    return (
        f"Overwrites the disk {touch.path[:40]}" if touch and touch.call.name not in ("chmod", "chown", "ls") else None
    )


_SQL_CLIENTS = names(
    "psql mysql mariadb sqlite3 sqlite duckdb clickhouse-client clickhouse cqlsh sqlcmd bq usql pgcli mycli litecli"
    " cockroach snowsql trino presto spark-sql hive"
)
_DROPPERS = names("dropdb dropuser mysqladmin")
_SQL_NOISE = re.compile(r"--[^\n]*|/\*.*?(?:\*/|\Z)|'[^']*'", re.DOTALL)
_SQL_LOSS = re.compile(
    r"\s*(?:(drop\s+(?:table|database|schema|view|index|materialized|type|role|user|keyspace|collection)\b)"
    r"|(truncate\b)|(delete\s+from\b(?!.*\bwhere\s+(?!1\s*=\s*1|true)))|(update\s+\S+\s+set\b(?!.*\bwhere\b))"
    r"|(alter\s+table\b.*\bdrop\b))",
    re.IGNORECASE | re.DOTALL,
)
_FRAMEWORK_LOSS = re.compile(
    r"db:(?:drop|reset|wipe|truncate_all|schema:load|purge)|migrate:(?:fresh|reset|refresh)|database:drop|schema:drop"
)


def database_destruction(call: Call, scene: RiskInput) -> str | None:
    words = call.texts
    if call.name in _SQL_CLIENTS:
        for sql in (*words, call.stdin or ""):
            loss = sql_loss(sql)
            if loss:
                return f"Deletes data from a database: {loss}"
    if call.name in _DROPPERS and (call.name != "mysqladmin" or "drop" in words):
        return "Deletes a whole database"
    if call.name == "redis-cli" and re.search(
        r"(?i)\bflush(?:all|db)\b", " ".join((*words, (call.stdin or "")[:65536]))
    ):
        return "Deletes everything in a Redis database"
    if call.name in ("mongosh", "mongo", "mongodb"):
        code = " ".join((*words, call.stdin or ""))[:65536]
        if re.search(r"dropDatabase|\.drop\(|deleteMany\(\s*\{\s*\}|remove\(\s*\{\s*\}", code):
            return "Deletes data from a database"
    if any(_FRAMEWORK_LOSS.fullmatch(text) for text in words):
        return "Deletes a database and sets it up anew"
    if call.name in ("prisma", "npx", "pnpm", "yarn") and "migrate" in words and "reset" in words:
        return "Deletes a database and sets it up anew"
    if any(text.endswith("manage.py") for text in (call.program.text, *words[:1])) and set(words) & {
        "flush",
        "reset_db",
    }:
        return "Deletes everything in the project's database"
    return None


def sql_loss(sql: str) -> str:
    """The first statement that loses data, shortened; comments and texts inside the SQL do not count."""
    if not re.search(r"(?i)drop|truncate|delete|update|alter", sql[:65536]):
        return ""
    plain = _SQL_NOISE.sub("''", sql[:65536])
    for statement in plain.split(";")[:200]:
        if _SQL_LOSS.match(statement[:4096]):
            return " ".join(statement.split())[:60]
    return ""


_CLOUDS = names(
    "aws gcloud az doctl linode-cli hcloud oci ibmcloud scw eksctl fly flyctl heroku vercel netlify railway"
)
_CLOUD_LOSS = re.compile(
    r"delete\S*|terminate-\S+|destroy|rb|apps:destroy|pg:reset|remove|rm|deregister-\S+|purge\S*|addons:destroy"
)


def infrastructure_destruction(call: Call, scene: RiskInput) -> str | None:
    words = call.texts
    plain = plain_words(call)
    if call.name in ("terraform", "tofu", "terragrunt", "pulumi", "cdk", "vagrant", "cdktf"):
        if plain[:1] in (["destroy"], ["taint"]) or "-destroy" in words or "--destroy" in words:
            return f"Destroys what {call.name} has built"
        if plain[:2] == ["state", "rm"] or plain[:2] == ["workspace", "delete"]:
            return f"Makes {call.name} forget what it has built"
    if call.name == "kubectl" and plain[:1] in (["delete"], ["replace"]) and not any("dry-run" in w for w in words):
        return f"Deletes from the cluster: kubectl {' '.join(plain[:3])[:50]}"
    if call.name == "helm" and plain[:1] in (["uninstall"], ["delete"], ["rollback"]):
        return "Takes an application out of the cluster"
    if call.name in _CLOUDS and any(_CLOUD_LOSS.fullmatch(text) for text in plain[:4]):
        return f"Deletes something in the cloud: {call.name} {' '.join(plain[:3])[:50]}"
    if call.name == "gsutil" and plain[:1] and plain[0] in ("rm", "rb"):
        return "Deletes files in the cloud"
    if call.name == "gh" and plain[1:2] in (["delete"], ["archive"]) and plain[0] not in ("cache", "label"):
        return f"Deletes at GitHub: gh {' '.join(plain[:2])[:40]}"
    return None


def publishes(call: Call, scene: RiskInput) -> str | None:
    words = call.texts
    plain = plain_words(call)
    verb = plain[0] if plain else ""
    if "--dry-run" in words or "--help" in words:
        return None
    if call.name in ("python", "pypy") and words[:1] == ("-m",) and words[1:2] == ("twine",) and "upload" in words:
        return "Publishes a package for everybody"
    if (call.name, verb) in _PUBLISHERS or (
        call.name in ("npm", "yarn", "pnpm", "bun") and plain[:2] == ["npm", "publish"]
    ):
        return f"Publishes for everybody: {call.name} {verb}"
    if call.name in ("docker", "podman", "nerdctl") and (
        verb == "push"
        or plain[:2] in (["image", "push"], ["compose", "push"])
        or ("--push" in words and "build" in plain[:2])
    ):
        return "Publishes a container image"
    if call.name == "gh" and plain[:2] in (["release", "create"], ["release", "upload"], ["release", "edit"]):
        return "Publishes a release at GitHub"
    if call.name == "gh" and plain[:1] == ["repo"] and ("--public" in words or "public" in words):
        return "Makes a repository public"
    if call.name in ("mvn", "mvnw") and "deploy" in plain:
        return "Publishes a package"
    if call.name in ("gradle", "gradlew") and any(text.split(":")[-1].startswith("publish") for text in plain):
        return "Publishes a package" if not all(text.endswith("ToMavenLocal") for text in plain) else None
    if call.name in ("semantic-release", "release-it", "np") or (
        call.name in ("lerna", "changeset") and verb == "publish"
    ):
        return "Publishes packages for everybody"
    if "destroy" in words or "-destroy" in words or "--destroy" in words:
        return None
    if call.name in _DEPLOYERS and (verb in ("deploy", "publish", "apply", "up", "promote") or "--prod" in words):
        return f"Puts changes online: {call.name} {verb}".rstrip()
    return None


_DEPLOYERS = names(
    "vercel netlify firebase wrangler fly flyctl serverless sls cdk eb terraform tofu pulumi railway surge"
)
_PUBLISHERS = frozenset(
    {(name, "publish") for name in names("npm yarn pnpm bun cargo poetry uv flit hatch pdm vsce ovsx deno jsr")}
    | {("npm", "unpublish"), ("npm", "deprecate"), ("npm", "dist-tag"), ("twine", "upload"), ("gem", "push")}
    | {("helm", "push"), ("nuget", "push"), ("dotnet", "nuget"), ("pod", "trunk"), ("conan", "upload"), ("gem", "yank")}
    | {("cargo", "yank"), ("dart", "pub"), ("flutter", "pub"), ("luarocks", "upload"), ("hex", "publish")}
)

_SYSTEM_INSTALLERS = names("apt apt-get aptitude dnf yum pacman zypper apk brew port snap flatpak choco winget nix-env")
_INSTALL_VERBS = names(
    "install remove purge upgrade dist-upgrade full-upgrade uninstall autoremove add del -s -r -u reinstall"
)


def installs_software(call: Call, scene: RiskInput) -> str | None:
    words = call.texts
    plain = plain_words(call)
    verb = plain[0] if plain else ""
    if call.name in _SYSTEM_INSTALLERS:
        chosen = verb in _INSTALL_VERBS or (call.name == "pacman" and any(re.match(r"-[SRU]", text) for text in words))
        return f"Changes the software of this machine: {call.name} {' '.join(plain[:3])[:50]}" if chosen else None
    if call.name in ("npm", "pnpm", "yarn", "bun") and {"-g", "--global", "global"} & set(words):
        changing = {"install", "i", "add", "uninstall", "remove", "rm", "update", "link"} & set(plain)
        return "Changes the software of this machine, not only of the project" if changing else None
    if call.name == "pip" and verb in ("install", "uninstall"):
        loose = {"--user", "--break-system-packages"} & set(words)
        return "Changes the software of this machine, not only of the project" if loose else None
    if call.name in ("gem", "cargo", "go", "pipx") and verb in ("install", "uninstall"):
        local = any(text.startswith(("--path", "--root", ".")) for text in words)
        return None if local else f"Installs a program for this user: {call.name} {' '.join(plain[:2])[:50]}"
    if call.name == "uv" and plain[:2] in (["tool", "install"], ["tool", "uninstall"]):
        return "Installs or removes a program of this user"
    return None
