"""The explorer: searches that can be looked at, of toy trees and of chess positions."""
