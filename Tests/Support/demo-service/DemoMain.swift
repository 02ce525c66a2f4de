internal import DemoService
internal import ServiceKit

@main struct DemoMain: ServiceCommand {
  static let service = DemoService.self
}
