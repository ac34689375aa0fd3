"""What a path is: the project's own, credentials, a startup file. By its name alone; the disk is not asked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from tapgate.shell.calls import UNKNOWN, locate


class PathKind(StrEnum):
    """Each path has one kind for writing: the first of these that fits."""

    TAPGATE = "tapgate"
    AGENT = "agent"
    DEVICE = "device"
    SYSTEM = "system"  # who may do what on this machine
    CREDENTIAL = "credential"
    STARTUP = "startup"
    HARMLESS = "harmless"  # the project, temporary files, /dev/null
    DOTFILE = "dotfile"
    OUTSIDE = "outside"
    UNSURE = "unsure"  # it begins with something that only the run can tell


@dataclass(frozen=True, slots=True)
class Ground:
    """The directories by which paths are judged."""

    home: str
    project: str
    real_project: str = ""  # where the project lies with all links followed, if that is elsewhere

    def locate(self, text: str, cwd: str) -> str:
        return locate(text, cwd, self.home)

    def owns(self, path: str) -> bool:
        return is_within(path, self.project) or bool(self.real_project and is_within(path, self.real_project))

    def is_home(self, path: str) -> bool:
        """The home directory, or something in it. Where that is `/`, nothing is told by it."""
        return self.home != "/" and is_within(path, self.home)

    def is_temporary(self, path: str) -> bool:
        """Below a directory for temporary files, not that directory itself.

        A home or a project may lie there, too: these are not temporary, nor is a directory that holds one of them.
        """
        if not any(path.startswith(f"{directory}/") for directory in TEMPORARY) or self.is_home(path):
            return False
        return not any(is_within(held, path) for held in (self.home, self.project, self.real_project) if held)

    def shown(self, path: str) -> str:
        """For people, and for a narrow screen: with ~ for the home directory."""
        path = " ".join(self.with_tilde(path).replace(UNKNOWN, "…").split())
        return path if len(path) <= 80 else "…" + path[-79:]

    def with_tilde(self, path: str) -> str:
        return "~" + path[len(self.home) :] if self.is_home(path) else path


def ground(home: str, project: str, cwd: str) -> Ground:
    home = locate(home, "/", "/") if home else "/nowhere"
    return Ground(home, locate(project or cwd or "/nowhere", "/", home))


def is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


_TAPGATE = re.compile(r"/(?:tapgate|tapgate-\d+)(?:/|$)|/[^/]*tapgate[^/]*\.(?:service|socket|plist|sock)$")
_AGENT = re.compile(
    r"/\.claude(?:/(?:settings[^/]*\.json|hooks|plugins|agents|commands|skills|\.credentials\.json|rules)(?:/|$)|$)"
    r"|/\.claude\.json$|/\.mcp\.json$|/hooks\.json$|/managed-(?:settings|mcp)\.json$"
    r"|/\.codex(?:/(?!worktrees|sessions|log|history)|$)|/\.gemini(?:/(?:settings|hooks)|$)"
)
_DEVICE = re.compile(r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|r?disk|md|dm-|loop|mapper/|mem$|kmem$|port$|sr\d)")
_SYSTEM = re.compile(r"/etc/(?:sudoers(?:\.d)?(?:/|$)|passwd$|shadow$|group$|gshadow$|pam\.d/|ssh/|security/|ld\.so\.)")
_CREDENTIAL = re.compile(
    r"/\.(?:ssh|aws|kube|azure|gnupg|oci|password-store|vault-token)(?:/|$)"
    r"|/\.config/(?:gcloud|gh|hub|op|rclone|doctl|heroku)(?:/|$)|/\.docker/config\.json$"
    r"|/\.(?:netrc|pypirc|git-credentials|pgpass|my\.cnf|s3cfg|boto|terraformrc)$"
    r"|/\.cargo/credentials[^/]*$|/\.gem/credentials$|/\.terraform\.d/credentials|/Library/Keychains/"
    r"|/\.local/share/keyrings/"
)
_STARTUP = re.compile(
    r"/\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zprofile|zshenv|zlogin|zlogout|kshrc"
    r"|cshrc|tcshrc|login|xinitrc|xprofile|xsession|xsessionrc|pam_environment|envrc|direnvrc|inputrc)$"
    r"|/\.config/(?:fish|autostart|systemd|environment\.d|direnv)(?:/|$)|/\.local/share/systemd/"
    r"|/Library/Launch(?:Agents|Daemons)(?:/|$)|/\.git/(?:hooks(?:/|$)|config$)|/\.husky(?:/|$)|/\.githooks(?:/|$)"
    r"|^/etc/(?:cron|profile|bash\.bashrc|zsh|rc\.local|init\.d|rc\d?\.d|systemd|environment$|xdg/autostart|anacrontab)"
    r"|^/var/spool/(?:cron|at)|^/(?:usr/)?lib/systemd/|^/usr/local/etc/periodic|/\.vscode/tasks\.json$"
)
TEMPORARY = ("/tmp", "/var/tmp", "/var/folders", "/dev/shm")  # noqa: S108 - names of places, nothing is written
NO_FILES = re.compile(
    r"/dev/(?:null|zero|full|tty|stdin|stdout|stderr|random|urandom|fd/|pts/|tcp/|udp/)|/proc/self/fd/"
)


def kind_of(path: str, ground: Ground) -> PathKind:
    """What writing to this located path would mean."""
    owned = ground.owns(path)
    if _TAPGATE.search(path) and not owned:
        return PathKind.TAPGATE
    for kind, pattern in (
        (PathKind.AGENT, _AGENT),
        (PathKind.DEVICE, _DEVICE),
        (PathKind.SYSTEM, _SYSTEM),
        (PathKind.CREDENTIAL, _CREDENTIAL),
        (PathKind.STARTUP, _STARTUP),
    ):
        if pattern.search(path):
            return kind
    below_home = ground.home.rstrip("/") + "/"
    if path == f"{below_home}.npmrc":
        return PathKind.CREDENTIAL
    if path.startswith(UNKNOWN):
        return PathKind.UNSURE
    if ground.is_temporary(path) or NO_FILES.match(path):
        return PathKind.HARMLESS
    hidden = path.startswith(f"{below_home}.") and not path.startswith(f"{below_home}.cache/")
    if hidden and (not owned or ground.owns(ground.home)):
        return PathKind.DOTFILE
    return PathKind.HARMLESS if owned else PathKind.OUTSIDE


_SECRET = re.compile(
    r"(?:^|/)(?:\.env(?:\.[\w.-]+)?|\.envrc|\.netrc|\.npmrc|\.pypirc|\.git-credentials|\.pgpass|\.my\.cnf|\.vault-token"
    r"|\.htpasswd|\.s3cfg|id_(?:rsa|dsa|ecdsa|ed25519)(?:_[\w-]+)?|[^/]*\.(?:pem|p12|pfx|jks|keystore|kdbx|ovpn|ppk)"
    r"|credentials(?:\.(?:json|ya?ml|toml|xml|ini|csv))?|service[-_]account[^/]*\.json|client_secret[^/]*\.json"
    r"|\.?secrets?(?:\.[\w-]+)?\.(?:json|ya?ml|toml|env|ini|txt)|secrets?|\.credentials\.json"
    r"|terraform\.tfstate(?:\.backup)?|\.(?:bash|zsh|python|psql|mysql|node_repl)_history|auth\.json|master\.key"
    r"|wallet\.dat|cookies\.sqlite|login data|key\d\.db|logins\.json)$"
    r"|/\.(?:ssh|aws|azure|gnupg|oci|password-store)/[^/]+|/\.config/(?:gcloud|gh|op|rclone|doctl)/[^/]+"
    r"|/\.kube/config|/Default/Cookies$|/\.docker/config\.json$|/\.codex/auth\.json$|/etc/(?:shadow|gshadow|sudoers)"
    r"|/Library/Keychains|/\.local/share/keyrings|/proc/[^/]+/environ$|/run/secrets/|/var/run/secrets/",
    re.IGNORECASE,
)
_NO_SECRET = re.compile(
    r"\.env[\w.-]*\.(?:example|sample|template|dist|defaults?|schema)$|\.env\.(?:example|sample|template|dist)"
    r"|/\.ssh/(?:config|known_hosts[^/]*|authorized_keys\d?|[^/]*\.pub)$|\.pub$|/\.aws/cli/"
    r"|/\.gnupg/(?:gpg|dirmngr)[^/]*\.conf$|(?:^|/)(?:certs?|ca)[^/]*\.pem$|cacert\.pem$|fullchain\.pem$",
    re.IGNORECASE,
)
_SECRET_DIRECTORY = re.compile(r"/\.(?:ssh|aws|azure|gnupg|password-store)$|/\.config/(?:gcloud|gh)$|/\.kube$")


def is_secret(path: str) -> bool:
    """Whether what is in this file is likely to be a secret. Samples and public halves are not."""
    name = path.rsplit("/", 1)[-1].lower()
    if name.endswith(".pub") or _NO_SECRET.search(path):
        return False
    return (
        bool(_SECRET.search(path))
        or "private-key" in name.replace("_", "-").replace(".", "-")
        or (
            name.endswith(".key") and any(word in name for word in ("server", "client", "tls", "ssl", "sign", "deploy"))
        )
    )


def holds_secrets(path: str) -> bool:
    """Whether this is a directory whose files are secrets."""
    return bool(_SECRET_DIRECTORY.search(path))


_SECRET_NAME = re.compile(
    r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|APIKEY|API_KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?|AUTH|PAT)"
    r"(?:$|_)|SECRET|PASSWORD|_KEY$|TOKEN$"
)


def is_secret_name(variable: str) -> bool:
    """Whether a variable of this name is likely to hold a secret."""
    return variable.isupper() and bool(_SECRET_NAME.search(variable)) and not variable.startswith("SSH_AUTH")
