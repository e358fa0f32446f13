"""Addresses of endpoints, read strictly: what is not read here is sent to nobody. Pure."""

import ipaddress
import re
from dataclasses import dataclass

# Scheme, host (a name, or an IPv6 address in brackets), perhaps a port, and a path. The standard library takes much
# more for an address, and does not always see the host that the HTTP library then asks.
_ADDRESS = re.compile(
    r"(?P<scheme>https?)://"
    r"(?:\[(?P<bracketed>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_.])?))"
    r"(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>(?:/[A-Za-z0-9._~!$&'()*+,;=:%-]*)*)",
    re.IGNORECASE,
)
_MOST_PORTS = 65_535


@dataclass(frozen=True, slots=True)
class Address:
    """scheme and host in small letters, the host without brackets; path: "" or from its first slash."""

    scheme: str
    host: str
    port: int | None
    path: str

    @property
    def is_loopback(self) -> bool:
        """Whether what is sent there stays on this machine."""
        if self.host == "localhost":
            return True
        ip = self._ip
        return ip is not None and ip.is_loopback

    @property
    def is_private(self) -> bool:
        """Whether the host is an IP address of a private network."""
        ip = self._ip
        return ip is not None and ip.is_private

    @property
    def _ip(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None


def address_of(url: str) -> Address | None:
    """The address as it was read; None for anything that is none, whatever another program would make of it."""
    found = _ADDRESS.fullmatch(url)
    if found is None:
        return None
    port = int(found["port"]) if found["port"] else None
    if port is not None and not 1 <= port <= _MOST_PORTS:
        return None
    if found["bracketed"] and not _is_ipv6(found["bracketed"]):
        return None
    host = found["bracketed"] or found["name"]
    return Address(found["scheme"].lower(), host.lower(), port, found["path"])


def is_loopback(url: str) -> bool:
    """Whether what is sent to the address stays on this machine; False for what is no address."""
    address = address_of(url)
    return address is not None and address.is_loopback


def without_version(url: str, *versions: str) -> str:
    """The address without a slash, or one of the versions, at its end: SDKs add theirs by themselves."""
    url = url.rstrip("/")
    ending = next((f"/{version}" for version in versions if url.endswith(f"/{version}")), "")
    return url.removesuffix(ending).rstrip("/")


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True
